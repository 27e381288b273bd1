#include "engine/run/choice/expert_use.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tandem {
namespace {

// Plans are made again when this many times as many tokens were counted as for the last plans. So this
// happens ever more rarely.
constexpr int64_t kWorthCounting = 2;

}  // namespace

// Counts of all layers with experts, without any token yet.
RoutingCounts no_counts(const ModelConfig& config) {
  std::vector<int64_t> layers;
  for (int64_t l = 0; l < config.layers; ++l)
    if (config.has_experts(l)) layers.push_back(l);
  return empty_counts(config.experts->count, config.experts->used, std::move(layers));
}

// Counts of a calibration stay as they are. Without them the engine counts while it runs.
ExpertUse::ExpertUse(const ModelConfig& config, std::optional<RoutingCounts> calibrated)
    : counts_(!calibrated && config.experts) {
  if (calibrated)
    planned_ = std::move(*calibrated);
  else if (config.experts)
    planned_ = no_counts(config);
  counted_ = planned_;
}

// Totals count layers whose experts the plan placed for as many tokens as ran. Counts for plans count every layer.
bool ExpertUse::add(const Plan& plan, std::span<const RoutedLayer> layers, Overflow overflow) {
  for (const PlannedExperts& planned : plan.experts) {
    const auto layer = std::ranges::find(layers, planned.layer, &RoutedLayer::layer);
    if (layer != layers.end() && layer->tokens == planned.tokens) add_totals(planned, *layer, overflow);
  }
  if (!counts_ || layers.empty()) return false;
  for (const RoutedLayer& layer : layers) {
    const auto at = std::ranges::find(counted_.layers, layer.layer);
    count_choices(counted_, static_cast<size_t>(at - counted_.layers.begin()), layer.ids);
  }
  counted_.tokens += layers.front().tokens;
  if (counted_.tokens < kWorthCounting * planned_.tokens) return false;
  planned_ = counted_;
  return true;
}

// For reports: how well the NPU's rows were filled, and where the other choices went. The overflow has the choices of
// cold experts too, which no room was planned for, so they are subtracted.
void ExpertUse::add_totals(const PlannedExperts& planned, const RoutedLayer& layer, Overflow overflow) {
  const ExpertPlacement& placement = planned.placement;
  if (placement.resident.empty()) return;
  std::vector<int64_t> loads(placement.capacities.size(), 0);
  for (const int32_t id : layer.ids) ++loads[static_cast<size_t>(id)];
  const SlotUse use = slot_use(placement.resident, loads);
  int64_t cold = 0;  // choices of experts that are not on the NPU
  for (size_t e = 0; e < loads.size(); ++e)
    if (placement.capacities[e] == 0) cold += loads[e];
  totals_.graphs += static_cast<int64_t>(placement.resident.size());
  totals_.choices += static_cast<int64_t>(layer.ids.size());
  totals_.slots += use.slots;
  totals_.valid += use.valid;
  totals_.elsewhere += cold;
  (overflow == Overflow::drop ? totals_.dropped : totals_.spilled) += use.overflow - cold;
}

}  // namespace tandem
