// Finds OpenCL devices, and sets what must be set before the first OpenCL call of the process.
//
// Contract: the functions may change the environment, so no other thread may use it meanwhile.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/device/opencl/cl.h"
#include "engine/device/proof/verdict.h"

namespace tandem::opencl {

struct FoundDevice {
  cl::Platform platform;
  cl::Device device;
};

// Sets variables for PoCL that the user has not set; PoCL reads them once, at the first OpenCL call. They are the
// number of its workers (0: half of the cores), the pinning of worker i to core i (POCL_AFFINITY), and no SIGFPE
// handler. Only the first call has an effect.
void configure_process(size_t workers);

// Describes each device in its driver's words, for the comparison with the devices that were tried.
std::vector<proof::Identity> identities(const std::vector<FoundDevice>& found);

// All devices of all platforms, in the order that opencl:N counts: GPUs and accelerators first, then
// CPUs. Empty without a driver. The first call lets a child process try the drivers, if that was not done
// before (engine/device/proof/). failures: gets the platforms that do not list their devices, with the driver's code; a
// platform without devices is no failure.
std::vector<FoundDevice> find_devices(std::string* failures = nullptr);

}  // namespace tandem::opencl
