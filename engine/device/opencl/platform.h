// Finding OpenCL devices, and what must be set before the first OpenCL call of the process.
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

// PoCL reads its environment once, at the first OpenCL call. Sets, where the user has not: the number of its worker
// threads (0: half of the cores), worker i pinned to core i (POCL_AFFINITY), and no SIGFPE handler. Calls after the
// first one change nothing.
void configure_process(size_t workers);

// How devices are told apart from those that were tried.
std::vector<proof::Identity> identities(const std::vector<FoundDevice>& found);

// Over all platforms, in the order that opencl:N counts: GPUs and accelerators first, then CPUs. Empty without a
// driver. The first call has the drivers tried in a child process, where that was not done before
// (engine/device/proof/).
std::vector<FoundDevice> find_devices();

}  // namespace tandem::opencl
