// Finds out which card an OpenCL device is.
//
// Contract: asks the driver at every call. Threads: any.
#pragma once

#include "engine/device/card_name.h"
#include "engine/device/opencl/cl.h"

namespace tandem::opencl {

bool is_cpu(const cl::Device& device);
// The card's UUID and PCI address, by cl_khr_device_uuid, cl_khr_pci_bus_info, or the attribute queries of NVIDIA and
// AMD. Parts that the driver does not say are empty.
CardName card_of(const cl::Device& device);
// Whether the device is a card with memory of its own: a GPU whose driver does not say that it shares the
// host's memory.
bool is_discrete(const cl::Device& device);

}  // namespace tandem::opencl
