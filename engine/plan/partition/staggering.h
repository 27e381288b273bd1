// Two halves of a prompt, some stages apart: while the first device runs the norms, the rotation, the attention of one
// half, the second multiplies for the other, and every matmul's rows are cut so that both devices end together (H6 with
// the first device's other work counted in).
//
// Source: the overlap of a matmul on the NPU with the GPU's own operators is HeteroLLM's idea of letting one processor
// dominate a phase (H7); taking it from two halves of one prompt is what pipelined micro-batches do (Huang et al. 2019,
// arXiv:1811.06965).
//
// All functions are pure. Seconds are what the caller measured or modelled.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/device/operator.h"

namespace tandem {

// A run of operators of one kind: matmuls, which both devices share, or everything else, which the first device runs.
// Stages of a decoder alternate; the first one is no matmul (it may be empty).
struct Stage {
  bool multiplies = false;
  std::vector<Operator> operators;
};
std::vector<Stage> stages_of(std::span<const Operator> operators);

struct StageSeconds {
  double on_first = 0;   // all of the stage on the first device
  double on_second = 0;  // of matmuls; infinite: it cannot
  int64_t panels = 1;    // steps of the cut: panels of 64 rows of the largest matmul
};

// One step of the two-half pipeline: the other work of one half beside the matmuls of the other half.
struct Slot {
  int half_beside = -1, stage_beside = -1;          // -1: none
  int half_multiplied = -1, stage_multiplied = -1;  // -1: none
  double share_of_first = 0;                        // of the matmuls' rows
};

struct Staggering {
  int lag = 1;  // stages that the second half is behind; odd
  std::vector<Slot> slots;
  double seconds = 0;  // predicted, until both devices are done
};

// The slots for a given lag, with the rows of each matmul cut so that the devices end together, the time that either is
// ahead from earlier slots counted in. Both halves have the same stages.
Staggering stagger(std::span<const StageSeconds> first_half, std::span<const StageSeconds> second_half, int lag);
// The best lag of 1, 3, 5 and 7.
Staggering best_staggering(std::span<const StageSeconds> first_half, std::span<const StageSeconds> second_half);

}  // namespace tandem
