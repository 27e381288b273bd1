// Common parts of the strategies that multiply on the NPU alone: H1 and the baselines of H12. They differ in the graphs
// that run a matmul of S tokens. Operators other than matmuls run on the GPU, or on the host if there is none.
//
// Contract: pure functions. A matmul that the NPU refuses, or that fits none of its graphs, falls back with a note.
#pragma once

#include "engine/plan/partition/part_operator.h"
#include "engine/plan/plan.h"
#include "engine/plan/plan_request.h"

namespace tandem {

// The plan's NPU, and the device for all other operators: the first GPU, or the host if there is no GPU. Error without
// these devices.
struct NpuBeside {
  int npu = 0, others = 0;
};
NpuBeside npu_beside(const PlanRequest& request, const char* plan);

CutLimits cut_limits(const PlanRequest& request, int npu, const Operator& matmul);

// The cheaper of padded_layout() and pipe_layout() by request.costs; pipe_layout() without costs.
TokenLayout cheaper_layout(const PlanRequest& request, int npu, const Operator& matmul);

// A plan with every matmul on the NPU, in the graphs that `graphs` lays out, and everything else on the other device.
Plan multiply_on_npu(const PlanRequest& request, const char* name,
                     TokenLayout (*graphs)(const PlanRequest& request, int npu, const Operator& matmul));

}  // namespace tandem
