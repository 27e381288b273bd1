#include "bench/paper_npumoe/lab.h"

#include <utility>

#include "engine/model/shapes.h"
#include "sync/error.h"

namespace tandem::paper_npumoe {

std::vector<Setting> printed_settings(const char* model) {
  return {{model, 1024, 256}, {model, 1024, 512}, {model, 4096, 512}, {model, 4096, 1024}};
}

// Each expert's share of the choices, by layer, in the chunks that plans were made on.
std::vector<std::vector<double>> Routing::shares() const {
  std::vector<std::vector<double>> of_layers;
  for (const ExpertCounts& counts : planned.counts) {
    std::vector<double>& shares = of_layers.emplace_back();
    for (const int64_t count : counts)
      shares.push_back(static_cast<double>(count) / static_cast<double>(planned.tokens * planned.used));
  }
  return of_layers;
}

// Half of the chunks plan the rooms of experts and the other half judges them. So no room was made for tokens
// that judge it.
Routing drawn_routing(const std::string& model, const RoutingModel& drawn) {
  constexpr int64_t kChunkTokens = 256, kPlanned = 8, kUnseen = 8;
  Routing routing;
  routing.shape = mixture_shape(model_shape(model));
  const MixtureShape& shape = routing.shape;
  std::vector<RoutingCounts> chunks =
      drawn_chunks(drawn, shape.experts, shape.used, shape.layers, kChunkTokens, kPlanned + kUnseen);
  routing.planned = chunks.front();
  for (size_t c = 1; c < kPlanned; ++c) routing.planned = sum_of(routing.planned, chunks[c]);
  routing.unseen.assign(chunks.begin() + kPlanned, chunks.end());
  return routing;
}

// Routing is drawn once for each model. Calibration and rows then see the same.
const Routing& Traffic::of(const std::string& model) {
  std::unique_ptr<Routing>& routing = drawn_[model];
  if (!routing) routing = std::make_unique<Routing>(drawn_routing(model, model_));
  return *routing;
}

Lab::Lab(SocProfile profile, Traffic& traffic) : profile_(std::move(profile)), traffic_(traffic) {
  if (!profile_.has_experts())
    throw Error("this processor profile says nothing of experts", profile_.name,
                "Name one that does: m2-ultra, m2-max (docs/model_clock.md, the section `experts`)");
}

// A setting and an engine are modelled once.
const ExpertTimes& Lab::prefill(const Setting& setting, ExpertEngine engine) {
  const auto key = std::make_pair(setting, engine);
  if (const auto found = times_.find(key); found != times_.end()) return found->second;
  const Routing& routing = traffic_.of(setting.model);
  return times_[key] = prefill_times(chip(), routing.shape, engine, setting.prompt, setting.chunk, routing.shares(),
                                     paper_rules(chip()));
}

}  // namespace tandem::paper_npumoe
