#include "engine/run/machine/lane_times.h"

namespace tandem {
namespace {

// Where a lane's time is counted; nullptr: the operator belongs to no lane. Only the GPU's products have lists.
double* time_of(const Operator& op, LaneSeconds& seconds) {
  if (const auto* move = std::get_if<ExpertMove>(&op.body)) return move->keeper == nullptr ? &seconds.link : nullptr;
  const auto* product = std::get_if<GroupedMatMul>(&op.body);
  if (product == nullptr || !product->listed_only) return nullptr;
  return product->lists ? &seconds.gpu : &seconds.host;
}

// A unit belongs to the products in front of it. A span of a whole step belongs to the lane of its first operator.
double* time_of(const Step& step, int index, LaneSeconds& seconds) {
  if (index < 0) return time_of(step.operators.front(), seconds);
  for (int at = index; at >= 0; --at) {
    const Operator& op = step.operators[static_cast<size_t>(at)];
    if (!std::holds_alternative<Glu>(op.body)) return time_of(op, seconds);
  }
  return nullptr;
}

}  // namespace

LaneSeconds lane_seconds(const Plan& plan, const PassSpans& spans) {
  LaneSeconds seconds;
  for (const std::vector<StepSpan>& of_device : spans)
    for (const StepSpan& span : of_device) {
      const Step& step = plan.steps[static_cast<size_t>(span.step)];
      if (double* time = time_of(step, span.op, seconds)) *time += span.end_seconds - span.start_seconds;
    }
  return seconds;
}

}  // namespace tandem
