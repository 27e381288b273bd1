#include "engine/run/pass/not_finite.h"

#include <algorithm>
#include <cstddef>
#include <variant>
#include <vector>

#include "engine/device/host/loops.h"
#include "engine/model/layer_names.h"
#include "engine/plan/schedule.h"
#include "engine/run/pass/body_views.h"

namespace tandem {
namespace {

// The regions where the operator writes f32 values. The cache and scratch are not among them.
std::vector<Region> written_activations(const Operator& op) {
  std::vector<Region> all;
  const auto add = [&all](const auto& body) {
    for (const auto& view : views_of(body)) {
      if (view.is_there && view.role == Role::activation && view.use != Use::read)
        all.push_back({view.place->advanced(view.skip_bytes), view.rows, view.width_bytes, view.pitch_bytes});
    }
  };
  std::visit(add, op.body);
  return all;
}

// Rows are looked at one by one, because the bytes between two rows are not the operator's.
bool holds_finite_rows(const Region& region) {
  const auto* first = region.at.as<const std::byte>();
  for (int64_t row = 0; row < region.rows; ++row) {
    const auto* values = reinterpret_cast<const float*>(first + static_cast<size_t>(row) * region.pitch_bytes);
    if (!all_finite({values, region.width_bytes / sizeof(float)})) return false;
  }
  return true;
}

// Operators outside all layers, such as the embedding and the logits, have no number of a layer.
std::string describe(const Operator& op, const Device& device) {
  std::string where = std::string(name_in_layer(op.name)) + " on " + device.info().id;
  // Attention also reads keys and values of this pass and of earlier ones, so they may be the cause.
  if (std::holds_alternative<Attention>(op.body)) where += ", or its keys and values";
  return op.layer < 0 ? where : "layer " + std::to_string(op.layer) + ", " + where;
}

}  // namespace

bool all_finite(std::span<const float> values) {
  return host::best_loops().scan_logits(values.data(), std::ssize(values)).is_finite;
}

// Runs the operators one at a time, and looks at the values that each has written. The first one with a bad value is
// the cause, since all activations before it were finite.
std::optional<std::string> where_not_finite(std::span<const Operator> operators,
                                            std::span<const std::unique_ptr<Device>> devices, Executor& executor) {
  for (const Operator& op : operators) {
    const auto device = std::ranges::find_if(devices, [&op](const auto& each) { return each->supports(op).yes; });
    if (device == devices.end()) return std::nullopt;
    const auto prepared = executor.prepare(schedule("finite", {(*device)->info().id}, {{0, op}}));
    executor.run(*prepared);
    for (const Region& region : written_activations(op))
      if (!holds_finite_rows(region)) return describe(op, **device);
  }
  return std::nullopt;
}

}  // namespace tandem
