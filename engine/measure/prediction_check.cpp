#include "engine/measure/prediction_check.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "engine/plan/prediction/statistics.h"

namespace tandem {
namespace {

// The unit of comparison: one operator, neighbours of one name, or a whole step.
struct Item {
  std::string name, step, kind, shape;
  double predicted_seconds = 0;
  std::vector<double> measured_seconds;  // one for each run
};

std::string shape_of_operator(const Operator& op) {
  std::string text = std::to_string(tokens_of(op)) + (tokens_of(op) == 1 ? " token" : " tokens");
  if (const auto* matmul = std::get_if<MatMul>(&op.body))
    text += ", K " + std::to_string(matmul->K) + ", rows " + std::to_string(matmul->row_end - matmul->row_begin);
  return text;
}

// The operators of one device in the plan's order. Neighbours of one name become one item.
std::vector<Item> items_of(const Plan& plan, const Prediction& prediction, int device) {
  std::vector<Item> items;
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    if (step.device != device) continue;
    for (size_t i = 0; i < step.operators.size(); ++i) {
      const Operator& op = step.operators[i];
      const double seconds = prediction.steps[s].operator_seconds[i];
      if (!items.empty() && items.back().name == op.name) {
        items.back().shape += " + " + shape_of_operator(op);
        items.back().predicted_seconds += seconds;
      } else {
        items.push_back({op.name, step.name(), kind_name(op), shape_of_operator(op), seconds, {}});
      }
    }
  }
  return items;
}

// Joins the items of each step into one.
std::vector<Item> by_step(const std::vector<Item>& items) {
  std::vector<Item> steps;
  for (const Item& item : items) {
    if (!steps.empty() && steps.back().step == item.step) {
      steps.back().kind = kSeveral;
      steps.back().shape = "a step";
      steps.back().predicted_seconds += item.predicted_seconds;
    } else {
      steps.push_back(item);
      steps.back().name = item.step;
    }
  }
  return steps;
}

bool is_work(const Span& span, const std::string& device) {
  return span.device == device && !span.modelled && span.kind != SpanKind::wait;
}

// Adds the times of one run. Spans come in the plan's order, so a span belongs to the current item or to the next one
// of its name. Spans of no item are ignored.
void add_run(std::vector<Item>& items, const Timeline& run, const std::string& device) {
  size_t next = 0, current = items.size();
  for (const Span& span : run.spans()) {
    if (!is_work(span, device)) continue;
    // A new name: search for its item behind the last one that matched.
    if (current == items.size() || items[current].name != span.name) {
      current = next;
      while (current < items.size() && items[current].name != span.name) ++current;
      if (current == items.size()) continue;
      items[current].measured_seconds.push_back(0);
      next = current + 1;
    }
    items[current].measured_seconds.back() += span.end_seconds - span.start_seconds;
  }
}

// Whether the device recorded whole steps instead of single operators.
bool times_steps(std::span<const Timeline> runs, const std::string& device) {
  return std::ranges::any_of(runs, [&](const Timeline& run) {
    return std::ranges::any_of(
        run.spans(), [&](const Span& span) { return is_work(span, device) && span.kind == SpanKind::several; });
  });
}

}  // namespace

// For each device: predicted items, then the times of every run added to them, then one row for each kind and shape. A
// row has medians over its items, and an item's time is its median over the runs.
std::vector<CheckedOperator> check_predictions(const Plan& plan, const Prediction& prediction,
                                               std::span<const Timeline> runs) {
  std::vector<CheckedOperator> rows;
  for (size_t d = 0; d < plan.devices.size(); ++d) {
    std::vector<Item> items = items_of(plan, prediction, static_cast<int>(d));
    if (times_steps(runs, plan.devices[d])) items = by_step(items);
    for (const Timeline& run : runs) add_run(items, run, plan.devices[d]);
    struct Alike {
      int64_t count = 0;
      std::vector<double> predicted, measured;
    };
    std::map<std::pair<std::string, std::string>, Alike> groups;
    for (const Item& item : items) {
      if (item.predicted_seconds <= 0 || item.measured_seconds.empty()) continue;
      Alike& group = groups[{item.kind, item.shape}];
      ++group.count;
      group.predicted.push_back(item.predicted_seconds);
      group.measured.push_back(median(item.measured_seconds));
    }
    for (auto& [what, group] : groups)
      rows.push_back({plan.devices[d], what.first, what.second, group.count, median(std::move(group.predicted)),
                      median(std::move(group.measured))});
  }
  return rows;
}

// A row of many alike operators counts as often as they occur in the plan.
double median_error(std::span<const CheckedOperator> rows) {
  std::vector<double> errors;
  for (const CheckedOperator& row : rows)
    errors.insert(errors.end(), static_cast<size_t>(row.count), std::abs(row.error()));
  return summarise(std::move(errors)).p50;
}

}  // namespace tandem
