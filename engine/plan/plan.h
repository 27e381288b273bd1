// The plan of a pass: a list of steps. A step is a program on a device, the steps of other devices that it waits for,
// and whether others wait for it.
//
// Contract: plans are values that pure functions make, so tests can print and compare them without any device. Devices
// work in order, so one flag for each device is enough. Step i of the plan raises its device's flag to (base + i).
// Waiting for that value also waits for all earlier steps of the device.
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

// One operator, or a slice of one, on one device. device: an index into the plan's devices.
struct Placed {
  int device = 0;
  Operator op;
};

struct Step {
  int device = 0;
  std::vector<Operator> operators;
  std::vector<int> waits;  // indices of earlier steps on other devices, at most one a device
  bool signals = false;    // a later step, or the end of the plan, waits for it

  std::string name() const;  // "blk.3.attn_qkv" or "first .. last"
};

// H7: the device whose work hides the other's. It decides how steps reach the GPU; results are the same.
enum class Dominant : uint8_t {
  gpu,  // decode: every step is queued at once; the GPU's queue itself waits for the NPU's flags
  npu,  // prefill: a GPU step that waits for the NPU is submitted after the NPU has ended the awaited step
};

const char* to_string(Submit submit);

// How the matmuls of one shape are cut, and why. Reports print it.
struct Decided {
  std::string name;  // of the first such matmul
  MatMulShape shape;
  int64_t operators = 0;  // number of matmuls with this shape
  Decision decision;
};

// The places of one layer's experts (NPUMoE), for a batch of `tokens` tokens.
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
  std::vector<Decided> decisions{};       // the solver's (H9), in the order of the computation
  std::vector<PlannedExperts> experts{};  // one for each layer whose experts may be on the NPU
};

}  // namespace tandem
