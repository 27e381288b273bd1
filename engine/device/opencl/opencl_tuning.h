// What tests and benches may change or look at in an OpenCL device; nothing else includes this.
#pragma once

#include <memory>

#include "engine/device/opencl/cl.h"
#include "engine/device/opencl/opencl_device.h"

namespace tandem::opencl {

struct Tuning {
  bool list_single_programs = false;  // also what is launched by itself goes through the list kernel
  bool lists_may_stamp = true;        // false: as on a device whose compiler cannot read the cycle counter
  bool c11_atomics = true;            // false: gates as of a compiler of OpenCL C 1.2
};
std::unique_ptr<Device> open_device_tuned(int index, const DeviceOptions& options, const Tuning& tuning);

// Every buffer, queue, program and kernel alive holds one reference to it: tests look whether a closed device left any.
const cl::Context& context_of(const Device& device);

// Lists that a resident kernel took over without a launch (--sync doorbell); 0 for a device without lists. Results are
// the same either way: tests ask whether it happened at all.
uint32_t posted_lists(const Device& device);

}  // namespace tandem::opencl
