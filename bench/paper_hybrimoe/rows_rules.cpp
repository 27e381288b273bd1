// YF21 to YF30: curves without values, the cost law, the worked example, and rules.
#include <algorithm>

#include "bench/paper_hybrimoe/row.h"
#include "engine/moe/schedules/schedule_rule.h"

namespace tandem::paper_hybrimoe {
namespace {

// Fig. 5: A to E. The GPU takes 1 for each expert, the processor its load, and a transfer 3.
ExpertSchedule worked_example(const char* rule) {
  const std::vector<int64_t> loads{4, 3, 5, 1, 2};
  const std::vector<int32_t> cached{0, 1, 4};
  return find_schedule_rule(rule)->make({loads, cached, {.cpu_per_token = 1, .gpu_fixed = 1, .transfer = 3}});
}

// Whether the worked example has this expert on this lane.
double is_on(ExpertLane lane, int32_t expert) {
  return static_cast<double>(std::ranges::count(worked_example("greedy").on(lane), expert));
}

// A schedule of experts that all have one load, without the GPU's head start of shared experts.
double schedule_ms(Lab& lab, const char* rule, size_t experts, int64_t load, bool cached) {
  const std::vector<int64_t> loads(experts, load);
  std::vector<int32_t> ids;
  for (int32_t id = 0; cached && id < std::ssize(loads); ++id) ids.push_back(id);
  ExpertCosts costs = costs_of(lab.machine(), Mixture::deepseek);
  costs.gpu_offset = 0;
  return find_schedule_rule(rule)->make({loads, ids, costs}).makespan();
}

void add_kept(std::vector<Row>& rows, Mixture model, double kept) {
  const MixtureSize& size = size_of(model);
  rows.push_back({"YF28", std::string("scores that TopP keeps, ") + size.name, "experts", kept, kept, Use::held_out,
                  Kind::exact, [&size](Lab&) { return static_cast<double>(kept_scores(size.experts, size.used)); },
                  "the rule 2 k"});
}

}  // namespace

// Most of these are rules and laws that the model has built in, and curves without values. Only the worked example, the
// guess ahead and the kept scores can miss.
void add_rule_rows(std::vector<Row>& rows) {
  rows.push_back(
      Row::not_predicted("YF21", "experts are chosen more evenly than neurons", "", 0, 0, "a curve without values"));
  rows.push_back(Row::not_predicted("YF22", "reuse by score", "", 0, 0,
                                    "a curve without values; a trace has no scores of the others"));
  rows.push_back(Row::not_predicted("YF23", "loads of one prompt", "", 0, 0, "a curve without values"));
  const char* built_in = "the law of Y1 says so";
  rows.push_back(
      {"YF24", "GPU, 8 experts over 4", "x", 2, 2, Use::cannot_miss, Kind::exact,
       [](Lab& lab) { return schedule_ms(lab, "fixed", 8, 1, true) / schedule_ms(lab, "fixed", 4, 1, true); },
       built_in});
  rows.push_back({"YF24", "processor, the first expert is slower than the next", "", 1, 1, Use::cannot_miss,
                  Kind::exact,
                  [](Lab& lab) {
                    const double first = schedule_ms(lab, "fixed", 1, 1, false);
                    return schedule_ms(lab, "fixed", 2, 1, false) < 2 * first ? 1.0 : 0.0;
                  },
                  built_in});
  rows.push_back(
      {"YF25", "GPU, 64 tokens over 1", "x", 1, 1, Use::cannot_miss, Kind::exact,
       [](Lab& lab) { return schedule_ms(lab, "fixed", 1, 64, true) / schedule_ms(lab, "fixed", 1, 1, true); },
       built_in});
  const auto worked = [&](const char* what, double printed, double (*modelled)(Lab&)) {
    rows.push_back({"YF26", what, "", printed, printed, Use::held_out, Kind::exact, modelled,
                    "Fig. 5 by `greedy`; its loads are lost, these are ours"});
  };
  worked("the processor takes the cached expert E", 1, [](Lab&) { return is_on(ExpertLane::cpu, 4); });
  worked("the GPU takes the uncached expert C", 1, [](Lab&) { return is_on(ExpertLane::gpu, 2); });
  worked("experts that are moved", 1,
         [](Lab&) { return static_cast<double>(worked_example("greedy").on(ExpertLane::link).size()); });
  rows.push_back({"YF27", "layers ahead of which experts are guessed", "layers", 3, 3, Use::held_out, Kind::exact,
                  [](Lab&) { return static_cast<double>(kPrefetchLayers); }, "the rule itself"});
  add_kept(rows, Mixture::mixtral, 4);
  add_kept(rows, Mixture::qwen2, 16);
  add_kept(rows, Mixture::deepseek, 12);
  rows.push_back(Row::not_predicted("YF29", "Table I: granularity and caches of five engines", "", 0, 0,
                                    "properties, not numbers"));
  rows.push_back(Row::not_predicted("YF30", "Table I: computing on the processor, dynamic mapping", "", 0, 0,
                                    "properties; they define the baselines"));
}

}  // namespace tandem::paper_hybrimoe
