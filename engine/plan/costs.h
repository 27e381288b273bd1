// What operators cost, as strategies ask for it: one interface for the wall clock (measured, engine/run/) and the model
// clock (a processor profile).
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/device/operator.h"

namespace tandem {

class SolvedMatMuls;

struct PlanCosts {
  // Predicted seconds of an operator on a device of the plan; attention at the positions of the batch. `both`: while
  // the other side works too. Matmuls on the NPU have the tokens of their graph.
  std::function<double(int device, const Operator& op, bool both)> seconds;
  double sync_seconds = 0;  // T_sync of one join (H7, H9)
  double copy_seconds = 0;  // T_copy of one join (H9)
  // Of each device of the plan; those of one lane have one thread or core, which takes their steps in the plan's order.
  // Empty: each device has its own.
  std::vector<int> lanes{};
  // What the solver (H9) has said by these costs, for the next plan that asks (engine/plan/matmul_decisions.h);
  // nullptr: every plan asks anew.
  std::shared_ptr<SolvedMatMuls> solved{};
  explicit operator bool() const { return seconds != nullptr; }
};

}  // namespace tandem
