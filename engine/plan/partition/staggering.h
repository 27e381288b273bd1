// Schedules two halves of a prompt, some stages apart. While the first device runs norms, rotation and attention of one
// half, the second one multiplies for the other half. Every matmul's rows are cut so that both devices end together
// (H6, with the first device's other work counted in).
//
// Source: HeteroLLM lets one processor dominate a phase, so that matmuls on the NPU overlap with the GPU's own
// operators (H7). Pipelined micro-batches take the overlapping work from parts of one batch (Huang et al.
// 2019, arXiv:1811.06965).
//
// Contract: pure functions. Seconds come from the caller, either estimated for this machine or modelled.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/device/operator.h"

namespace tandem {

// A run of operators of one kind: matmuls, which both devices share, or other operators, which the first device runs.
// The two kinds of stages alternate. The first stage has no matmuls; it may be empty.
struct Stage {
  bool multiplies = false;
  std::vector<Operator> operators;
};
std::vector<Stage> stages_of(std::span<const Operator> operators);

struct StageSeconds {
  double on_first = 0;   // the whole stage on the first device
  double on_second = 0;  // the whole stage on the second device, for matmuls only; infinite: it cannot
  int64_t panels = 1;    // number of steps of the cut: panels of 64 rows in the largest matmul
};

// One step of the pipeline: other operators of one half, at the same time as matmuls of the other half.
struct Slot {
  int half_beside = -1, stage_beside = -1;          // the stage without matmuls; -1: none
  int half_multiplied = -1, stage_multiplied = -1;  // the stage of matmuls; -1: none
  double share_of_first = 0;                        // the first device's share of the matmuls' rows
};

struct Staggering {
  int lag = 1;  // number of stages by which the second half is behind; odd
  std::vector<Slot> slots;
  double seconds = 0;  // predicted, until both devices have ended
};

// The slots for a given lag. The rows of each matmul are cut so that both devices end together, counting the lead that
// a device has from earlier slots. Both halves have the same stages.
Staggering stagger(std::span<const StageSeconds> first_half, std::span<const StageSeconds> second_half, int lag);
// The best lag of 1, 3, 5 and 7.
Staggering best_staggering(std::span<const StageSeconds> first_half, std::span<const StageSeconds> second_half);

}  // namespace tandem
