#include "bench/paper_npumoe/quantities.h"

#include <algorithm>
#include <numeric>

#include "engine/model/shapes.h"

namespace tandem::paper_npumoe {
namespace {

// The experts of Table 5 in graphs of G, in the order of their ids.
std::vector<ExpertGroup> table5_groups(const GroupRow& row, int64_t E) {
  std::vector<ExpertGroup> groups;
  for (int64_t first = 0; first < E; first += row.G) {
    ExpertGroup& group = groups.emplace_back();
    group.capacity = row.C;
    group.experts.resize(static_cast<size_t>(row.G));
    std::iota(group.experts.begin(), group.experts.end(), first);
  }
  return groups;
}

using Total = double (*)(const ChipExperts&, const ExpertSize&, std::span<const ExpertGroup>, GraphOrder);

// The total for one slot, in thousandths of its unit.
double per_slot(const Lab& lab, const GroupRow& row, Total total) {
  const MixtureShape shape = mixture_shape(model_shape(kPhi));
  const auto slots = static_cast<double>(shape.experts * row.C);
  return 1e3 * total(lab.chip(), shape.expert, table5_groups(row, shape.experts), row.order) / slots;
}

}  // namespace

double ms_per_slot(const Lab& lab, const GroupRow& row) { return per_slot(lab, row, graphs_seconds); }
double mj_per_slot(const Lab& lab, const GroupRow& row) { return per_slot(lab, row, graphs_joules); }

// The quantity of a run that a row compares.
double value_of(const ExpertTimes& times, What what) {
  switch (what) {
    case What::latency:
      return times.seconds();
    case What::energy:
      return times.joules();
    case What::cpu_time:
      return times.cpu_seconds;
    case What::communication:
      break;
  }
  return times.communication_joules;
}

// The baseline over ours, so a number above 1 is a gain.
double gain(Lab& lab, const Setting& setting, ExpertEngine baseline, What what) {
  return value_of(lab.prefill(setting, baseline), what) / value_of(lab.prefill(setting, ExpertEngine::ours), what);
}

std::pair<double, double> gains(Lab& lab, const std::vector<Setting>& settings,
                                const std::vector<ExpertEngine>& baselines, What what) {
  std::vector<double> all;
  for (const Setting& setting : settings)
    for (const ExpertEngine baseline : baselines) all.push_back(gain(lab, setting, baseline, what));
  const auto [least, most] = std::ranges::minmax(all);
  return {least, most};
}

// Decoding is the same work in all engines. NF1 says which share of the CPU engine's run it has.
double gain_end_to_end(Lab& lab, const Setting& setting, ExpertEngine baseline, What what, double share) {
  const double decoding = value_of(lab.prefill(setting, ExpertEngine::cpu), what) * (1 - share) / share;
  return (value_of(lab.prefill(setting, baseline), what) + decoding) /
         (value_of(lab.prefill(setting, ExpertEngine::ours), what) + decoding);
}

// Table 4 prints one layer, and the model has all layers alike.
double ffn_ms_of_a_layer(Lab& lab, ExpertEngine engine) {
  const auto layers = static_cast<double>(lab.routing(kPhi).shape.layers);
  return 1e3 * lab.prefill(kTable4, engine).expert_seconds / layers;
}

// Router, gather, scatter and residual are software whose time Table 4 prints.
double host_ms_of_a_layer(const Lab& lab) {
  return 1e3 * static_cast<double>(kTable4.prompt) * lab.chip().host_seconds_per_token;
}

double expert_share(Lab& lab) {
  const ExpertTimes& times = lab.prefill(kTable4, ExpertEngine::ours);
  return times.expert_seconds / times.seconds();
}

double millijoules_per_token(Lab& lab, const Setting& setting) {
  return 1e3 * lab.prefill(setting, ExpertEngine::ours).joules() / static_cast<double>(setting.prompt);
}

double overlap_of(Lab& lab, int64_t K) {
  const Routing& routing = lab.routing(kPhi);
  return overlap_on(routing.planned, routing.unseen, K);
}

RoomUse room_of(Lab& lab) {
  const Routing& routing = lab.routing(kPhi);
  return room_use(routing.planned, routing.unseen, routing.shape.expert.weight_bytes(), paper_rules(lab.chip()));
}

}  // namespace tandem::paper_npumoe
