// An OpenCL device as one side of litmus tests (engine/device/lab/litmus.h), by kernels/litmus.cl.
//
// Contract: as LitmusAgent. Memory must be shared (prove_zero_copy). The agent has its own queue. So two agents of one
// device run at once if the device runs two queues at once (PoCL with two workers).
#pragma once

#include <memory>

#include "engine/device/lab/litmus.h"
#include "engine/device/opencl/program_cache.h"

namespace tandem::opencl {

std::unique_ptr<LitmusAgent> make_litmus_agent(ProgramCache& programs, uint64_t max_allocation_bytes);

}  // namespace tandem::opencl
