// A plan is a list of steps. A step is a program on a device, the steps of other devices it waits for, and whether
// others wait for it.
//
// Plans are values, made by pure functions and printed, compared and tested without any device. Devices are in-order,
// so one flag a device is enough: step i of the plan raises its device's flag to (base + i), and waiting for it is
// waiting for all before it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/device/operator.h"
#include "engine/moe/expert_placement.h"
#include "engine/plan/partition/matmul_shape.h"
#include "engine/plan/partition/solver.h"

namespace tandem {

// One operator (or a slice of one) on one device (an index into the plan's devices).
struct Placed {
  int device = 0;
  Operator op;
};

struct Step {
  int device = 0;
  std::vector<Operator> operators;
  std::vector<int> waits;  // indices of earlier steps on other devices, at most one a device
  bool signals = false;    // some later step, or the end of the plan, waits for it

  std::string name() const;  // "blk.3.attn_qkv" or "first .. last"
};

// H7: whose time hides the other's, and so how steps reach the GPU. Results are the same.
enum class Dominant : uint8_t {
  gpu,  // decode: every step is queued at once; the GPU's queue itself waits for the NPU's flags
  npu,  // prefill: a GPU step that waits for the NPU is submitted when the NPU has ended what it waits for
};

// How steps reach the GPU (--submit): as if it dominated every pass, as if the NPU did, or the one for single tokens
// and the other for prompts.
enum class Submit : uint8_t { ahead, follow, dominant };
const char* to_string(Submit submit);

// How the matmuls of one shape are cut, and why: for people.
struct Decided {
  std::string name;  // of the first such matmul
  MatMulShape shape;
  int64_t operators = 0;  // that have this shape
  Decision decision;
};

// Where the experts of one layer are (NPUMoE), of a batch of so many tokens.
struct PlannedExperts {
  int64_t layer = 0, tokens = 0;
  ExpertPlacement placement;
};

struct Plan {
  std::string name;
  std::vector<std::string> devices;  // ids
  std::vector<Step> steps;
  std::vector<std::string> notes{};  // fallbacks, with their reasons
  Dominant dominant = Dominant::gpu;
  std::vector<Decided> decisions{};       // of the solver (H9), in the order of the computation
  std::vector<PlannedExperts> experts{};  // of the layers whose experts may be on the NPU
};

}  // namespace tandem
