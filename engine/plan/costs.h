// Predicted costs of operators, as strategies ask for them: one interface for both clocks. On the wall clock they
// are estimates of this machine (engine/run/choice/machine_rates.h). On the model clock a profile gives them.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/device/operator.h"

namespace tandem {

class SolvedMatMuls;

struct PlanCosts {
  // Predicted seconds of an operator on a device of the plan. An attention counts the positions of its batch. `both`:
  // the other side works at the same time. A matmul on the NPU has the tokens of its graph.
  std::function<double(int device, const Operator& op, bool both)> seconds;
  double sync_seconds = 0;  // T_sync of one join (H7, H9)
  double copy_seconds = 0;  // T_copy of one join (H9)
  // The lane of each device of the plan. Devices of one lane share a thread or a core, which runs their steps in the
  // plan's order. Empty: each device has a lane of its own.
  std::vector<int> lanes{};
  // The solver's decisions (H9) under these costs, shared by all plans that use the costs
  // (engine/plan/matmul_decisions.h). nullptr: every plan solves anew.
  std::shared_ptr<SolvedMatMuls> solved{};
  explicit operator bool() const { return seconds != nullptr; }
};

}  // namespace tandem
