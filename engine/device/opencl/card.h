// Which card an OpenCL device is.
#pragma once

#include "engine/device/card_name.h"
#include "engine/device/opencl/cl.h"

namespace tandem::opencl {

bool is_cpu(const cl::Device& device);
// The driver says it by cl_khr_device_uuid, cl_khr_pci_bus_info, or NVIDIA's and AMD's attribute queries; parts that it
// does not say are empty.
CardName card_of(const cl::Device& device);
// A card with memory of its own: a GPU whose driver does not say that it shares the host's.
bool is_discrete(const cl::Device& device);

}  // namespace tandem::opencl
