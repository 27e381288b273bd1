// Strategies that multiply on the NPU alone: H1, and the baselines of H12. They differ in the graphs that a matmul of S
// tokens runs in; what is no matmul runs on the GPU.
//
// Contract: pure functions. A matmul that the NPU refuses, or that none of its graphs fits, falls back and is noted.
#pragma once

namespace tandem {

struct Plan;
struct PlanRequest;

// The cheaper of padding and pipe, by request.costs; pipe without them.
Plan layer(const PlanRequest& request);
Plan npu_only(const PlanRequest& request);  // the same, with every operator offered to the NPU first

Plan padding_plan(const PlanRequest& request);  // the next standard size
Plan pipe_plan(const PlanRequest& request);     // several standard sizes in turn, the margin padded
// "Online-prepare": a graph of exactly S tokens, compiled when such a prompt comes; a note of the plan says so.
Plan online(const PlanRequest& request);
// Chunked prefill: graphs of one size, the last one padded. Batches of fewer than 16 tokens run in the smallest graph
// that holds them.
Plan chunked(const PlanRequest& request);

}  // namespace tandem
