#include "engine/run/machine/lane_times.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "engine/plan/expert_block.h"

namespace tandem {
namespace {

// Where a lane's time is counted; nullptr: the operator belongs to no lane. Only the GPU's products have lists.
double* time_of(const Operator& op, LaneSeconds& seconds) {
  if (const auto* move = std::get_if<ExpertMove>(&op.body)) return move->keeper == nullptr ? &seconds.link : nullptr;
  const auto* product = std::get_if<GroupedMatMul>(&op.body);
  if (product == nullptr || !product->listed_only) return nullptr;
  return product->lists ? &seconds.gpu : &seconds.host;
}

// A unit, a factor or a bias works on the results of products.
bool follows_products(const Operator& op) {
  return std::holds_alternative<Glu>(op.body) || rows_of_choices(op) != nullptr;
}

// Such an operator belongs to the products in front of it. A span of a whole step belongs to the lane of its
// first operator.
double* time_of(const Step& step, int index, LaneSeconds& seconds) {
  if (index < 0) return time_of(step.operators.front(), seconds);
  for (int at = index; at >= 0; --at) {
    const Operator& op = step.operators[static_cast<size_t>(at)];
    if (!follows_products(op)) return time_of(op, seconds);
  }
  return nullptr;
}

// The mean over layers. A link that still copies for an earlier layer shows no hand-over.
double hand_over_of(const Plan& plan, const PassSpans& spans) {
  std::map<int64_t, double> decided;
  std::vector<std::pair<int64_t, double>> begun;  // first copies of layers
  std::vector<std::pair<double, double>> link;
  for (const std::vector<StepSpan>& of_device : spans)
    for (const StepSpan& span : of_device) {
      const Step& step = plan.steps[static_cast<size_t>(span.step)];
      const Operator& op = step.operators[static_cast<size_t>(std::max(span.op, 0))];
      if (std::holds_alternative<ExpertDecide>(op.body)) decided[op.layer] = span.end_seconds;
      const auto* move = std::get_if<ExpertMove>(&op.body);
      if (move == nullptr && !std::holds_alternative<ExpertPrefetch>(op.body)) continue;
      link.emplace_back(span.start_seconds, span.end_seconds);
      if (move == nullptr) continue;
      const bool is_first = begun.empty() || begun.back().first != op.layer;
      if (move->keeper == nullptr && is_first) begun.emplace_back(op.layer, span.start_seconds);
    }
  double sum = 0;
  int count = 0;
  for (const std::pair<int64_t, double>& each : begun) {
    const double begin = each.second;
    const auto end = decided.find(each.first);
    if (end == decided.end() || begin < end->second) continue;
    const bool was_busy =
        std::ranges::any_of(link, [&](const auto& span) { return span.first < begin && span.second > end->second; });
    if (!was_busy) sum += begin - end->second, ++count;
  }
  return count > 0 ? sum / count : 0;
}

// From the decisions of layers to their sums.
double seconds_of_experts(const Plan& plan, const PassSpans& spans) {
  std::map<int64_t, double> decided, summed;
  for (const std::vector<StepSpan>& of_device : spans)
    for (const StepSpan& span : of_device) {
      const Operator& op =
          plan.steps[static_cast<size_t>(span.step)].operators[static_cast<size_t>(std::max(span.op, 0))];
      if (std::holds_alternative<ExpertDecide>(op.body)) decided[op.layer] = span.end_seconds;
      if (std::holds_alternative<ExpertSum>(op.body)) summed[op.layer] = span.start_seconds;
    }
  double sum = 0;
  for (const auto& [layer, end] : decided)
    if (const auto found = summed.find(layer); found != summed.end()) sum += std::max(0.0, found->second - end);
  return sum;
}

// Copies without a keeper go to a landing, on which products wait. Others go to slots, and nobody waits for them here.
bool is_copy_to_landing(const Step& step) {
  const auto* move = std::get_if<ExpertMove>(&step.operators.back().body);
  return move != nullptr && move->keeper == nullptr;
}

// A step stalls if its copies end behind everything else that it waits for, its own device's last step among it.
double stalls_of(const Plan& plan, const PassSpans& spans) {
  std::vector<double> end(plan.steps.size(), 0);
  for (const std::vector<StepSpan>& of_device : spans)
    for (const StepSpan& span : of_device) {
      double& of_step = end[static_cast<size_t>(span.step)];
      of_step = std::max(of_step, span.end_seconds);
    }
  std::vector<double> last(plan.devices.size(), 0);  // end of the latest step of each device
  double sum = 0;
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    double copies = 0, other = last[static_cast<size_t>(step.device)];
    for (const int wait : step.waits) {
      const auto at = static_cast<size_t>(wait);
      double& latest = is_copy_to_landing(plan.steps[at]) ? copies : other;
      latest = std::max(latest, end[at]);
    }
    if (copies > 0 && other > 0) sum += std::max(0.0, copies - other);
    last[static_cast<size_t>(step.device)] = std::max(last[static_cast<size_t>(step.device)], end[s]);
  }
  return sum;
}

}  // namespace

// Sums the spans of one pass by lane. Waits between lanes follow from the ends of decisions and steps.
LaneSeconds lane_seconds(const Plan& plan, const PassSpans& spans) {
  LaneSeconds seconds;
  for (const std::vector<StepSpan>& of_device : spans)
    for (const StepSpan& span : of_device) {
      const Step& step = plan.steps[static_cast<size_t>(span.step)];
      if (double* time = time_of(step, span.op, seconds)) *time += span.end_seconds - span.start_seconds;
    }
  seconds.hand_over = hand_over_of(plan, spans);
  seconds.experts = seconds_of_experts(plan, spans);
  seconds.stalls = stalls_of(plan, spans);
  return seconds;
}

}  // namespace tandem
