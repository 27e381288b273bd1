// `tandem plan-experts`: schedules of one layer's experts (Y2), and balances with near-memory units (G3), from numbers
// on the command line. Nothing is measured and no model is read.
#include "engine/app/commands/planning/expert_schedules.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/app/commands/planning/expert_lists.h"
#include "engine/app/flag_values.h"
#include "engine/app/report.h"
#include "engine/moe/near_memory.h"

namespace tandem::app {
namespace {

using nlohmann::json;

constexpr double kLeastTime = 1e-15, kMostTime = 1e9, kMostRate = 1e30;
constexpr WholeRange kUnitsRange{1, 1024}, kActiveRange{1, kMostListedExperts}, kPromptRange{1, kMostTokens};

struct ScheduleFlags {
  std::string loads, cached = "none", costs, schedules = "all";
  bool exhaustive = false, json = false;
  NearMemoryTimes times;
  int64_t top_k = 0, prompt = 0;
  NearMemoryRates rates;
  double unit_gib = 0, experts_gib = 0;
};

// ---- a processor and a GPU

// A schedule has the order on each lane, and the times of each part.
json json_of(const ScheduleRule& rule, const ExpertSchedule& schedule) {
  json timeline = json::array();
  for (const ExpertSpan& span : schedule.spans)
    timeline.push_back(
        {{"lane", to_string(span.lane)}, {"expert", span.expert}, {"begin", span.begin}, {"end", span.end}});
  return {{"schedule", rule.name},
          {"makespan", schedule.makespan()},
          {"cpu", schedule.on(ExpertLane::cpu)},
          {"gpu", schedule.on(ExpertLane::gpu)},
          {"moved", schedule.on(ExpertLane::link)},
          {"cpu_end", schedule.cpu_end},
          {"gpu_end", schedule.gpu_end},
          {"timeline", std::move(timeline)}};
}

// Lists are parsed again here, behind the checks of each flag, to check them against each other.
LayerExperts layer_of(const ScheduleFlags& flags) {
  const std::vector<int64_t> loads = loads_in(flags.loads);
  const std::vector<int32_t> cached = cached_in(flags.cached);
  for (const int32_t id : cached)
    if (id >= std::ssize(loads))
      throw WrongUsage("--cached: expert " + std::to_string(id) + " is not there; --loads has " +
                       std::to_string(loads.size()) + " experts");
  return {loads, cached, costs_in(flags.costs)};
}

// A search over all sets is only added if its user asks for it and the layer is small enough.
std::vector<const ScheduleRule*> rules_of(const ScheduleFlags& flags, size_t experts) {
  std::vector<const ScheduleRule*> rules = schedules_in(flags.schedules);
  const ScheduleRule* optimum = find_schedule_rule("optimum");
  if (flags.exhaustive && std::ranges::find(rules, optimum) == rules.end()) rules.push_back(optimum);
  for (const ScheduleRule* rule : rules)
    if (rule->most_experts > 0 && experts > rule->most_experts)
      throw WrongUsage("the schedule " + std::string(rule->name) + " tries everything, so it takes at most " +
                       std::to_string(rule->most_experts) + " experts; --loads has " + std::to_string(experts));
  return rules;
}

json schedules_json(const LayerExperts& layer, const std::vector<const ScheduleRule*>& rules) {
  json rows = json::array();
  for (const ScheduleRule* rule : rules) rows.push_back(json_of(*rule, rule->make(layer)));
  return {{"schedules", std::move(rows)}, {"best", best_schedule(layer).rule->name}};
}

// The spans of a lane in order, each as "expert begin-end".
std::string lane_text(const json& row, const char* lane) {
  std::string text;
  for (const json& span : row["timeline"]) {
    if (span["lane"] != lane) continue;
    char part[96];
    std::snprintf(part, sizeof part, "%s%d %g-%g", text.empty() ? "" : ", ", span["expert"].get<int>(),
                  span["begin"].get<double>(), span["end"].get<double>());
    text += part;
  }
  return text;
}

// A table in Markdown, which can be pasted into a page.
void print_schedules(const json& answer) {
  std::printf(
      "| schedule | makespan | GPU: expert, from - to | processor | link |\n| --- | ---: | --- | --- | --- |\n");
  for (const json& row : answer["schedules"])
    std::printf("| %s | %g | %s | %s | %s |\n", row["schedule"].get<std::string>().c_str(),
                row["makespan"].get<double>(), lane_text(row, "gpu").c_str(), lane_text(row, "cpu").c_str(),
                lane_text(row, "link").c_str());
  std::printf("\nbest: %s\n", answer["best"].get<std::string>().c_str());
}

// ---- near-memory units and a GPU

json json_of(const ExpertBalance& balance) { return {{"E_g", balance.on_gpu}, {"E_n", balance.on_units}}; }

json counts_json(const ScheduleFlags& flags) {
  if (flags.loads.empty()) return {};
  const CountedSplit split = split_by_counts(loads_in(flags.loads), flags.times, flags.rates, flags.prompt);
  return {{"m", split.on_gpu.size()}, {"on_gpu", split.on_gpu}, {"seconds", split.seconds}};
}

// All readings of the paper's equations side by side: the literal one, the share, and the split by counts.
// docs/gpu-ndp.md says how they differ.
json balance_json(const ScheduleFlags& flags) {
  if (!units_hold(flags.times.units, flags.unit_gib, flags.experts_gib)) {
    char needs[128];
    std::snprintf(needs, sizeof needs, "The experts take %g GiB, and %lld units of %g GiB have %g", flags.experts_gib,
                  static_cast<long long>(flags.times.units), flags.unit_gib,
                  static_cast<double>(flags.times.units) * flags.unit_gib);
    throw Error("not supported: the experts do not fit", std::to_string(flags.times.units) + " near-memory units",
                needs);
  }
  const ExpertBalance literal = prefill_balance(flags.times, flags.top_k, flags.prompt);
  const GpuExpertBound bound = gpu_expert_bound(flags.times, flags.top_k);
  json prefill = {{"literal", json_of(literal)}, {"share", {{"share", prefill_share(flags.times, flags.top_k)}}}};
  if (const json counts = counts_json(flags); !counts.is_null()) prefill["counts"] = counts;
  return {{"decode", json_of(decode_balance(flags.times, flags.top_k))},
          {"prefill", std::move(prefill)},
          {"E_max", {{"real", bound.real}, {"used", bound.used}}}};
}

void print_balance(const json& answer) {
  const auto line = [](const char* what, const json& balance) {
    std::printf("%-28s %g experts on the GPU, %g on the units\n", what, balance["E_g"].get<double>(),
                balance["E_n"].get<double>());
  };
  const json& prefill = answer["prefill"];
  line("decode (Eq. 1)", answer["decode"]);
  line("prefill (Eq. 2, literal)", prefill["literal"]);
  std::printf("%-28s %g of the routed work on the GPU\n", "prefill (share)", prefill["share"]["share"].get<double>());
  if (prefill.contains("counts"))
    std::printf("%-28s %lld experts on the GPU %s, %g s\n", "prefill (counts)",
                static_cast<long long>(prefill["counts"]["m"].get<int64_t>()),
                prefill["counts"]["on_gpu"].dump().c_str(), prefill["counts"]["seconds"].get<double>());
  std::printf("%-28s %g, used as %lld\n", "most on the GPU (Eq. 3)", answer["E_max"]["real"].get<double>(),
              static_cast<long long>(answer["E_max"]["used"].get<int64_t>()));
}

// ---- flags

// One command with two halves, which never mix: the flags decide which one runs.
int plan_experts_command(const ScheduleFlags& flags, bool units) {
  if (units) {
    const json answer = balance_json(flags);
    flags.json ? print_json(answer) : print_balance(answer);
    return kDone;
  }
  const LayerExperts layer = layer_of(flags);
  const json answer = schedules_json(layer, rules_of(flags, layer.size()));
  flags.json ? print_json(answer) : print_schedules(answer);
  return kDone;
}

using ListReader = void (*)(const std::string&);

CLI::Option* add_list(CLI::App& app, const char* name, std::string& field, const char* form, ListReader read,
                      const std::string& explains) {
  return app.add_option(name, field, explains)->check(accepted_by(form, read));
}

std::vector<CLI::Option*> add_schedule_flags(CLI::App& app, ScheduleFlags& flags) {
  return {add_list(
              app, "--cached", flags.cached, "ID,...|none", [](const std::string& text) { cached_in(text); },
              "experts that the GPU holds (default: none)"),
          add_list(
              app, "--costs", flags.costs, "NAME=COST,...", [](const std::string& text) { costs_in(text); },
              "times in any one unit, 0 where none is given: " + names_of_costs()),
          add_list(
              app, "--schedule", flags.schedules, "NAME,...|all", [](const std::string& text) { schedules_in(text); },
              "schedules (default: all but the optimum): " + names_of_schedules()),
          app.add_flag("--exhaustive", flags.exhaustive, "the optimum too, for at most 12 experts")};
}

CLI::Option* add_positive(CLI::App& app, const char* name, double& field, double most, const char* explains) {
  return app.add_option(name, field, explains)->check(finite_range(kLeastTime, most));
}

struct UnitFlags {
  CLI::Option* units;
  std::vector<CLI::Option*> needed, rates, memory;
};

// Flags in three groups: the units, what the balance always needs, and rates that only a split by counts needs. The
// groups are checked together later.
UnitFlags add_unit_flags(CLI::App& app, ScheduleFlags& flags) {
  const auto whole_number = [&](const char* name, int64_t& field, const WholeRange& range, const char* explains) {
    return app.add_option(name, field, explains)->transform(whole(range));
  };
  const auto time = [&](const char* name, double& field, const char* explains) {
    return add_positive(app, name, field, kMostTime, explains);
  };
  const auto time_from_0 = [&](const char* name, double& field, const char* explains) {
    return app.add_option(name, field, explains)->check(finite_range(0, kMostTime));
  };
  const auto rate = [&](const char* name, double& field, const char* explains) {
    return add_positive(app, name, field, kMostRate, explains);
  };
  UnitFlags added;
  added.units = whole_number("--ndp", flags.times.units, kUnitsRange, "near-memory units beside the GPU (N)");
  // Memory that is shared moves nothing. T_n stays above 0, because equations divide by sums with it.
  added.needed = {time_from_0("--t-g", flags.times.gpu_expert, "seconds of an expert on the GPU (T_g)"),
                  time("--t-n", flags.times.unit_expert, "seconds of an expert on all units together (T_n)"),
                  time_from_0("--t-w", flags.times.move_expert, "seconds to move an expert to the GPU (T_w)"),
                  time_from_0("--t-a", flags.times.move_activation,
                              "seconds to move a token's activations to or from a unit (T_a)"),
                  whole_number("--top-k", flags.top_k, kActiveRange, "experts of a token"),
                  whole_number("--prompt", flags.prompt, kPromptRange, "tokens of the prompt (S)")};
  added.rates = {rate("--expert-bytes", flags.rates.expert_bytes, "for --loads: bytes of an expert"),
                 rate("--expert-macs", flags.rates.expert_macs, "multiply-adds of an expert for one token"),
                 rate("--gpu-bytes-per-s", flags.rates.gpu_bytes_per_second, "memory bandwidth of the GPU"),
                 rate("--gpu-macs-per-s", flags.rates.gpu_macs_per_second, "multiply-adds of the GPU in a second"),
                 rate("--unit-bytes-per-s", flags.rates.unit_bytes_per_second, "memory bandwidth of one unit"),
                 rate("--unit-macs-per-s", flags.rates.unit_macs_per_second, "multiply-adds of one unit in a second")};
  added.memory = {time("--unit-gib", flags.unit_gib, "memory of one unit; without it, every model fits"),
                  time("--experts-gib", flags.experts_gib, "size of all experts of the model")};
  return added;
}

void require_all_or_none(const std::vector<CLI::Option*>& options, bool wanted) {
  for (const CLI::Option* option : options)
    if (wanted && option->count() == 0) throw CLI::RequiredError(option->get_name());
}

bool any_given(const std::vector<CLI::Option*>& options) {
  return std::ranges::any_of(options, [](const CLI::Option* option) { return option->count() > 0; });
}

// The two halves of the command have no flag in common but --loads.
void require_one_half(CLI::Option* loads, CLI::Option* costs, const std::vector<CLI::Option*>& schedule,
                      const UnitFlags& unit) {
  const bool units = unit.units->count() > 0;
  for (const CLI::Option* option : schedule)
    if (units && option->count() > 0) throw CLI::ExcludesError(option->get_name(), "--ndp");
  if (units) {
    require_all_or_none(unit.needed, true);
    require_all_or_none(unit.rates, any_given(unit.rates) || loads->count() > 0);
    require_all_or_none({loads}, any_given(unit.rates));
    require_all_or_none(unit.memory, any_given(unit.memory));
    return;
  }
  for (const auto& options : {unit.needed, unit.rates, unit.memory})
    for (const CLI::Option* option : options)
      if (option->count() > 0) throw CLI::RequiresError(option->get_name(), "--ndp");
  require_all_or_none({loads, costs}, true);
}

}  // namespace

// The examples stand in the help, because the command is used by copying one of them.
void add_plan_experts(CLI::App& app, Action& action) {
  auto flags = std::make_shared<ScheduleFlags>();
  CLI::Option* loads = add_list(
      app, "--loads", flags->loads, "TOKENS,...", [](const std::string& text) { loads_in(text); },
      "tokens of each active expert of a layer; its place is its id");
  const std::vector<CLI::Option*> schedule = add_schedule_flags(app, *flags);
  const UnitFlags unit = add_unit_flags(app, *flags);
  app.add_flag("--json", flags->json, "print one JSON object");
  app.footer(
      "Schedules of a processor and a GPU: give --loads and --costs.\n"
      "  tandem plan-experts --loads 4,3,5,1,2 --cached 0,1,4 --costs cpu_per_token=1,gpu_fixed=1,transfer=3\n"
      "Balance of near-memory units and a GPU: give --ndp, the four times, --top-k and --prompt; with --loads the\n"
      "rates too. docs/hybrimoe.md and docs/gpu-ndp.md explain both.");
  app.callback([flags, &action, loads, schedule, unit] {
    require_one_half(loads, schedule[1], schedule, unit);
    action = [flags, units = unit.units->count() > 0] { return plan_experts_command(*flags, units); };
  });
}

}  // namespace tandem::app
