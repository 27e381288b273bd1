// `tandem plan --soc` for mixtures: the engines of NPUMoE's comparison, and the groups of a layer with their places.
#include "engine/app/commands/planning/plan_experts.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/moe/routing_model.h"
#include "sync/error.h"

namespace tandem::app {
namespace {

using nlohmann::json;

double in_ms(double seconds) { return seconds * 1e3; }
double mib(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

// A few layers stand for all, and a few chunks for the whole text, because drawing takes time.
constexpr int64_t kDrawnLayers = 8, kPlanned = 4, kUnseen = 4;

// Loads of a chunk, drawn or counted, and the words that say which of both.
struct Drawn {
  RoutingCounts planned;
  std::vector<RoutingCounts> unseen;
};

// Draws chunks to plan on, and others to judge the plan by (N1). Judged by the planned chunks, capacities would look
// better than they are.
Drawn drawn_for(const MixtureShape& shape, int64_t chunk) {
  const int64_t layers = std::min(shape.layers, kDrawnLayers);
  std::vector<RoutingCounts> chunks = drawn_chunks({}, shape.experts, shape.used, layers, chunk, kPlanned + kUnseen);
  Drawn drawn{chunks.front(), {chunks.begin() + kPlanned, chunks.end()}};
  for (size_t c = 1; c < kPlanned; ++c) drawn.planned = sum_of(drawn.planned, chunks[c]);
  return drawn;
}

// The counts themselves, scaled to a chunk, stand for the unseen chunk: nothing else is known.
Drawn counted_in(const Calibration& calibration, const MixtureShape& shape, int64_t chunk) {
  const RoutingCounts& counts = calibration.counts;
  require_experts(counts, shape.experts, shape.used, "a calibration of '" + calibration.model + "'");
  RoutingCounts expected = counts;
  expected.tokens = chunk;
  for (ExpertCounts& layer : expected.counts) {
    const std::vector<double> loads = expected_loads(layer, counts.used, chunk);
    std::ranges::transform(loads, layer.begin(), [](double load) { return std::llround(load); });
  }
  return {counts, {std::move(expected)}};
}

// Shares of a layer's choices add up to 1. A token counts once for each expert that it uses.
std::vector<double> shares_of(const RoutingCounts& counts, size_t layer) {
  std::vector<double> shares;
  for (const int64_t count : counts.counts[layer])
    shares.push_back(static_cast<double>(count) / static_cast<double>(counts.tokens * counts.used));
  return shares;
}

// The costs of one group on either processor, wherever it lives. The NPU computes every row of the graph, whether it
// holds a token or not. The CPU computes the expected tokens alone. So a group with few tokens may be faster on the
// CPU (N4).
PlannedGroup planned(const ChipExperts& chip, const MixtureShape& shape, const ExpertGroup& group,
                     const std::vector<double>& loads, bool resident) {
  PlannedGroup line;
  line.experts = static_cast<int64_t>(group.experts.size());
  line.rows_each = group.capacity;
  line.graph_bytes = line.experts * shape.expert.weight_bytes();
  for (const int64_t expert : group.experts) line.expected_tokens += loads[static_cast<size_t>(expert)];
  line.npu_seconds = graph_seconds(chip, shape.expert, line.experts, group.capacity);
  line.cpu_seconds = cpu_seconds(chip, shape.expert, line.experts, line.expected_tokens);
  line.resident = resident;
  return line;
}

json to_json(const PlannedGroup& group) {
  return {{"experts", group.experts},
          {"rows_each", group.rows_each},
          {"graph_mib", mib(group.graph_bytes)},
          {"expected_tokens", group.expected_tokens},
          {"npu_ms", in_ms(group.npu_seconds)},
          {"cpu_ms", in_ms(group.cpu_seconds)},
          {"lives_on", group.resident ? "npu" : "cpu"}};
}

// Times are in milliseconds, as in all reports of this program.
json to_json(const EngineFigures& figures) {
  const ExpertTimes& times = figures.times;
  return {{"engine", figures.engine},
          {"ms", in_ms(times.seconds())},
          {"attention_ms", in_ms(times.attention_seconds)},
          {"experts_ms", in_ms(times.expert_seconds)},
          {"cpu_busy_ms", in_ms(times.cpu_seconds)},
          {"launches", times.launches},
          {"rows", times.slots},
          {"joules", times.joules()}};
}

}  // namespace

// Plans the first layer in detail for the table. The engines' times sum over all layers, which repeat those that
// have counts. The rules are those of the paper, and not the user's, because the engines of the paper are
// compared (N9).
ExpertsReport plan_experts(const SocProfile& profile, const ModelConfig& config, int64_t prompt, int64_t chunk,
                           const std::optional<Calibration>& calibration) {
  ExpertsReport report;
  report.chip = profile.name;
  report.routing = calibration ? "counted of '" + calibration->model + "'" : "drawn";
  report.shape = mixture_shape(config);
  report.prompt = prompt;
  report.chunk = chunk;
  if (!profile.has_experts()) {
    report.missing =
        "the profile " + profile.name +
        " has no section `experts`, so nothing is told of experts on its NPU; m2-ultra and m2-max have one";
    return report;
  }
  const ChipExperts& chip = profile.experts;
  const MixtureShape& shape = report.shape;
  const ExpertRules rules = paper_rules(chip);
  const Drawn drawn = calibration ? counted_in(*calibration, shape, chunk) : drawn_for(shape, chunk);
  const std::vector<double> loads = expected_loads(drawn.planned.counts[0], shape.used, chunk);
  const ExpertPlacement placement =
      place_experts(loads, shape.used, chunk, shape.expert.weight_bytes(), rules, residency_costs(chip, shape.expert));
  report.tiers = tier_capacities(shape.experts, shape.used, chunk, rules.tiers);
  for (const ExpertGroup& group : placement.resident) report.groups.push_back(planned(chip, shape, group, loads, true));
  for (const ExpertGroup& group : placement.elsewhere)
    report.groups.push_back(planned(chip, shape, group, loads, false));
  const RoomUse use = room_use(drawn.planned, drawn.unseen, shape.expert.weight_bytes(), rules);
  report.padded = use.padded;
  report.dropped = use.dropped;
  std::vector<std::vector<double>> shares;
  for (int64_t l = 0; l < shape.layers; ++l)
    // Layers without counts of their own repeat those that have some.
    shares.push_back(shares_of(drawn.planned, static_cast<size_t>(l) % drawn.planned.counts.size()));
  for (const ExpertEngine engine : kExpertEngines)
    report.engines.push_back(
        {std::string(name_of(engine)), prefill_times(chip, shape, engine, prompt, chunk, shares, rules)});
  return report;
}

// A report that has nothing to say is its reason alone.
json to_json(const ExpertsReport& report) {
  if (!report.missing.empty()) return {{"missing", report.missing}};
  json groups = json::array(), engines = json::array();
  for (const PlannedGroup& group : report.groups) groups.push_back(to_json(group));
  for (const EngineFigures& figures : report.engines) engines.push_back(to_json(figures));
  return {{"clock", "modelled: " + report.chip},
          {"routing", report.routing},
          {"experts", report.shape.experts},
          {"experts_used", report.shape.used},
          {"layers", report.shape.layers},
          {"prompt", report.prompt},
          {"chunk", report.chunk},
          {"tiers", report.tiers},
          {"groups", std::move(groups)},
          {"padded_share", report.padded},
          {"dropped_share", report.dropped},
          {"engines", std::move(engines)}};
}

// The text has three parts. The first is the room of the tiers (N2). The second has the groups of the first layer with
// both processors' times (N3, N4). The third compares the engines (N9, N10).
void print(const ExpertsReport& report) {
  std::printf("\n## experts: %lld, of which a token takes %lld, chunks of %lld tokens\n\n",
              static_cast<long long>(report.shape.experts), static_cast<long long>(report.shape.used),
              static_cast<long long>(report.chunk));
  if (!report.missing.empty()) {
    std::printf("note: %s\n", report.missing.c_str());
    return;
  }
  std::printf("Room for an expert: %lld, %lld or %lld rows. A group lives on the NPU where it is faster there.\n\n",
              static_cast<long long>(report.tiers[0]), static_cast<long long>(report.tiers[1]),
              static_cast<long long>(report.tiers[2]));
  std::printf("| experts | rows of each | graph MiB | expected tokens | NPU ms | CPU ms | lives on |\n");
  std::printf("| ---: | ---: | ---: | ---: | ---: | ---: | --- |\n");
  for (const PlannedGroup& group : report.groups)
    std::printf("| %lld | %lld | %.0f | %.1f | %.2f | %.2f | %s |\n", static_cast<long long>(group.experts),
                static_cast<long long>(group.rows_each), mib(group.graph_bytes), group.expected_tokens,
                in_ms(group.npu_seconds), in_ms(group.cpu_seconds), group.resident ? "NPU" : "CPU");
  std::printf(
      "\nexpected: %.1f %% of the rows padded, %.1f %% of the choices dropped (the routing is %s; groups of the first "
      "layer)\n",
      100 * report.padded, 100 * report.dropped, report.routing.c_str());
  std::printf("\n| engine, %lld tokens, %lld layers | ms | attention ms | experts ms | graph calls | J |\n",
              static_cast<long long>(report.prompt), static_cast<long long>(report.shape.layers));
  std::printf("| --- | ---: | ---: | ---: | ---: | ---: |\n");
  for (const EngineFigures& figures : report.engines) {
    const ExpertTimes& times = figures.times;
    std::printf("| %s | %.1f | %.1f | %.1f | %lld | %.2f |\n", figures.engine.c_str(), in_ms(times.seconds()),
                in_ms(times.attention_seconds), in_ms(times.expert_seconds), static_cast<long long>(times.launches),
                times.joules());
  }
}

}  // namespace tandem::app
