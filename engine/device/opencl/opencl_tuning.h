// Switches and facts of an OpenCL device for tests and benches. No other code includes this.
//
// Contract: context_of() and posted_lists() take devices that open_device_tuned() has opened. Threads: the device's.
#pragma once

#include <memory>

#include "engine/device/opencl/cl.h"
#include "engine/device/opencl/opencl_device.h"

namespace tandem::opencl {

struct Tuning {
  bool list_single_programs = false;  // programs outside a batch go through the list kernel too
  bool lists_may_stamp = true;        // false: as if the compiler could not read the cycle counter
  bool c11_atomics = true;            // false: gates as a compiler of OpenCL C 1.2 builds them
};
std::unique_ptr<Device> open_device_tuned(int index, const DeviceOptions& options, const Tuning& tuning);

// The device's context. Every living buffer, queue, program and kernel holds one reference to it, so tests see whether
// a closed device has left any.
const cl::Context& context_of(const Device& device);

// Number of lists that a resident kernel took over without a launch (--sync doorbell); 0 for a device without lists.
// Results are the same either way, so tests ask here whether it happened.
uint32_t posted_lists(const Device& device);

}  // namespace tandem::opencl
