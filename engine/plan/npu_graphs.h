// What strategies share that multiply on the NPU alone: H1, and the baselines of H12. They differ in the graphs that a
// matmul of S tokens runs in; what is no matmul runs on the GPU.
//
// Contract: pure functions. A matmul that the NPU refuses, or that none of its graphs fits, falls back and is noted.
#pragma once

#include "engine/plan/partition/part_operator.h"
#include "engine/plan/plan.h"
#include "engine/plan/plan_request.h"

namespace tandem {

// The plan's NPU, and who runs what is not for it: a GPU, or the host where there is none. Error without them.
struct NpuBeside {
  int npu = 0, others = 0;
};
NpuBeside npu_beside(const PlanRequest& request, const char* plan);

CutLimits cut_limits(const PlanRequest& request, int npu, const Operator& matmul);

// The cheaper of padding and pipe, by request.costs; pipe without them.
TokenLayout cheaper_layout(const PlanRequest& request, int npu, const Operator& matmul);

// Every matmul on the NPU, in the graphs that `graphs` lays out for it; everything else beside it.
Plan multiply_on_npu(const PlanRequest& request, const char* name,
                     TokenLayout (*graphs)(const PlanRequest& request, int npu, const Operator& matmul));

}  // namespace tandem
