// Time and energy of a prompt on a described chip, for NPUMoE and for what it is compared with.
#include "engine/moe/expert_prefill.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "sync/error.h"

namespace tandem {
namespace {

bool attention_on_npu(ExpertEngine engine) { return engine != ExpertEngine::cpu && engine != ExpertEngine::naive; }

// N10: the energy follows from how long each processor worked.
void add_joules(const ChipExperts& chip, ExpertTimes& times) {
  times.cpu_joules = chip.cpu_watts * times.cpu_seconds;
  times.communication_joules = chip.communication_watts * times.seconds();
}

// Attention and shared experts of one layer for the whole prompt. The host's own work counts as CPU time wherever
// attention runs.
ExpertTimes attention_times(const ChipExperts& chip, const MixtureShape& shape, ExpertEngine engine, int64_t P) {
  ExpertTimes times;
  const double flops = shape.attention_flops(P);
  if (attention_on_npu(engine)) {
    times.attention_seconds = flops / chip.attention_flops;
    times.npu_joules = times.attention_seconds * chip.attention_watts;
  } else {
    times.attention_seconds = times.cpu_seconds = flops / chip.cpu_attention_flops;
  }
  times.cpu_seconds += static_cast<double>(P) * chip.host_seconds_per_token * chip.host_core_share;
  add_joules(chip, times);
  return times;
}

// Time of the CPU for groups elsewhere and for experts that are too large for a graph.
double elsewhere_seconds(const ChipExperts& chip, const MixtureShape& shape, std::span<const double> loads,
                         const ExpertPlacement& placement) {
  double tokens = 0;
  int64_t experts = 0;
  for (size_t e = 0; e < loads.size(); ++e) {
    if (placement.capacities[e] > 0) continue;
    tokens += loads[e];
    ++experts;
  }
  return cpu_seconds(chip, shape.expert, experts, tokens);
}

}  // namespace

// Names are those of the paper's tables, in the order of the enumeration.
std::string_view name_of(ExpertEngine engine) {
  constexpr std::array<std::string_view, kExpertEngines.size()> kNames{"cpu",  "naive", "anemll", "npumoe",
                                                                       "base", "+t",    "+tg"};
  return kNames[static_cast<size_t>(engine)];
}

// The engine `anemll` runs attention on the NPU and experts on the CPU.
bool experts_on_npu(ExpertEngine engine) { return engine != ExpertEngine::cpu && engine != ExpertEngine::anemll; }

// The rules that the paper states or its tables imply. Tokens beyond a capacity are dropped there, while this engine
// computes them.
ExpertRules paper_rules(const ChipExperts& chip) {
  ExpertRules rules;
  rules.residency = ResidencyRule::faster;
  rules.overflow = Overflow::drop;
  rules.tiers.multiples = {2, 1, 1};  // 1.25 rows per choice at k = 2, as in three of four rows of Table 3
  rules.groups.largest_graph_bytes = chip.graph_bytes;
  return rules;
}

// `naive` has the rules of `base`. It differs in the waits of its launches and in the processor of its attention.
ExpertRules engine_rules(ExpertEngine engine, const ExpertRules& rules) {
  switch (engine) {
    case ExpertEngine::naive:
    case ExpertEngine::base:
      return base_rules(rules);
    case ExpertEngine::tiers:
      return tier_rules(rules);
    case ExpertEngine::tier_groups:
      return tier_group_rules(rules);
    default:
      return rules;
  }
}

ExpertTimes& ExpertTimes::operator+=(const ExpertTimes& other) {
  attention_seconds += other.attention_seconds;
  expert_seconds += other.expert_seconds;
  dispatch_seconds += other.dispatch_seconds;
  cpu_seconds += other.cpu_seconds;
  npu_joules += other.npu_joules;
  cpu_joules += other.cpu_joules;
  communication_joules += other.communication_joules;
  launches += other.launches;
  slots += other.slots;
  return *this;
}

// NPU and CPU work side by side, so the later of both counts. Launches and waits also take a share of the CPU.
ExpertTimes expert_times(const ChipExperts& chip, const MixtureShape& shape, ExpertEngine engine,
                         std::span<const double> loads, const ExpertPlacement& placement) {
  ExpertTimes times;
  if (experts_on_npu(engine)) {
    times.launches = static_cast<int64_t>(placement.resident.size());
    times.slots = placement.slots();
    // Launches that were not planned wait at each graph (N9).
    const double sync = engine == ExpertEngine::naive ? chip.naive_sync_seconds : 0;
    const auto launches = static_cast<double>(times.launches);
    times.dispatch_seconds = launches * (chip.launch_seconds + sync);
    const double npu = graphs_seconds(chip, shape.expert, placement.resident, GraphOrder::serial) + launches * sync;
    const double cpu = elsewhere_seconds(chip, shape, loads, placement);
    times.expert_seconds = std::max(npu, cpu);
    // The CPU cannot be busy for longer than the experts take.
    times.cpu_seconds = std::min(times.expert_seconds, cpu + times.dispatch_seconds * chip.host_core_share);
    times.npu_joules = graphs_joules(chip, shape.expert, placement.resident, GraphOrder::serial);
  } else {
    times.expert_seconds = times.cpu_seconds =
        cpu_seconds(chip, shape.expert, shape.experts, std::reduce(loads.begin(), loads.end()));
  }
  add_joules(chip, times);
  return times;
}

// All chunks of a layer cost the same, because each expects the same loads.
ExpertTimes prefill_times(const ChipExperts& chip, const MixtureShape& shape, ExpertEngine engine, int64_t P, int64_t C,
                          std::span<const std::vector<double>> shares, const ExpertRules& rules) {
  TANDEM_CHECK(P > 0 && C > 0 && std::cmp_equal(shares.size(), shape.layers), "a prompt of nothing");
  const int64_t chunks = (P + C - 1) / C;  // N5
  const ResidencyCosts costs = residency_costs(chip, shape.expert);
  ExpertTimes sum;
  for (const std::vector<double>& of_layer : shares) {
    std::vector<double> loads;
    // Loads are those of a full chunk. The last chunk is padded, so it costs as much.
    for (const double share : of_layer) loads.push_back(share * static_cast<double>(shape.used * C));
    const ExpertPlacement placement =
        place_experts(loads, shape.used, C, shape.expert.weight_bytes(), engine_rules(engine, rules), costs);
    const ExpertTimes of_chunk = expert_times(chip, shape, engine, loads, placement);
    for (int64_t chunk = 0; chunk < chunks; ++chunk) sum += of_chunk;
    sum += attention_times(chip, shape, engine, P);
  }
  return sum;
}

}  // namespace tandem
