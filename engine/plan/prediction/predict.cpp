#include "engine/plan/prediction/predict.h"

#include <algorithm>
#include <vector>

#include "engine/plan/prediction/overlap.h"

namespace tandem {
namespace {

// Devices that share a thread are one lane: their steps never overlap.
size_t lane_of(const PlanCosts& costs, int device) {
  return static_cast<size_t>(costs.lanes.empty() ? device : costs.lanes[static_cast<size_t>(device)]);
}

size_t count_of_lanes(const Plan& plan, const PlanCosts& costs) {
  size_t count = plan.devices.size();
  for (const int lane : costs.lanes) count = std::max(count, static_cast<size_t>(lane) + 1);
  return count;
}

// One round. A step begins when its lane is free and each awaited step has ended, with sync_seconds added. The steps of
// a plan stand in an order in which awaited steps come first. beside: whether a step runs at the costs with `both`.
Prediction simulate(const Plan& plan, const PlanCosts& costs, const std::vector<bool>& beside) {
  Prediction result;
  result.busy_seconds.assign(plan.devices.size(), 0);
  std::vector<double> free_at(count_of_lanes(plan, costs), 0);
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    const size_t lane = lane_of(costs, step.device);
    PredictedStep predicted;
    predicted.start_seconds = free_at[lane];
    for (const int awaited : step.waits) {
      predicted.start_seconds = std::max(predicted.start_seconds,
                                         result.steps[static_cast<size_t>(awaited)].end_seconds + costs.sync_seconds);
    }
    predicted.end_seconds = predicted.start_seconds;
    for (const Operator& op : step.operators) {
      predicted.operator_seconds.push_back(costs.seconds(step.device, op, beside[i]));
      predicted.end_seconds += predicted.operator_seconds.back();
    }
    result.busy_seconds[static_cast<size_t>(step.device)] += predicted.end_seconds - predicted.start_seconds;
    free_at[lane] = predicted.end_seconds;
    result.seconds = std::max(result.seconds, predicted.end_seconds);
    result.steps.push_back(std::move(predicted));
  }
  return result;
}

// The time of one step on its lane.
struct Interval {
  double start_seconds = 0, end_seconds = 0;
};

// For each step: whether another lane was at work for more than half of the step's time.
std::vector<bool> beside_others(const Plan& plan, const PlanCosts& costs, const Prediction& alone) {
  std::vector<std::vector<Interval>> lanes(count_of_lanes(plan, costs));  // a lane's steps follow one another
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const PredictedStep& step = alone.steps[i];
    lanes[lane_of(costs, plan.steps[i].device)].push_back({step.start_seconds, step.end_seconds});
  }
  std::vector<bool> beside(plan.steps.size(), false);
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const PredictedStep& own = alone.steps[i];
    const size_t own_lane = lane_of(costs, plan.steps[i].device);
    const double half = (own.end_seconds - own.start_seconds) / 2;
    for (size_t lane = 0; lane < lanes.size(); ++lane)
      if (lane != own_lane && overlap_seconds(lanes[lane], own.start_seconds, own.end_seconds) > half) beside[i] = true;
  }
  return beside;
}

}  // namespace

// Two rounds. The first one shows which steps run at the same time if nothing slows them down. The second one prices
// these steps as work beside another device.
Prediction predict(const Plan& plan, const PlanCosts& costs) {
  const Prediction alone = simulate(plan, costs, std::vector<bool>(plan.steps.size(), false));
  return simulate(plan, costs, beside_others(plan, costs, alone));
}

}  // namespace tandem
