// `tandem replay-moe`: what caches of experts would hit on recorded routing, by policy and budget. Nothing is run; the
// trace is all that it reads.
#include "engine/app/commands/models/replay_moe.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>

#include "engine/app/commands/models/replay_page.h"
#include "engine/app/commands/planning/expert_lists.h"
#include "engine/app/common_flags.h"
#include "engine/app/file_flags.h"
#include "engine/app/flag_values.h"
#include "engine/app/report.h"
#include "engine/app/text_input.h"
#include "engine/measure/roofline_probe.h"
#include "engine/model/shapes.h"
#include "sync/affinity.h"
#include "sync/error.h"
#include "sync/output_file.h"

namespace tandem::app {
namespace {

const char* name_of(ExpertLookup lookup) { return lookup == ExpertLookup::together ? "together" : "single"; }

std::string percent_text(double fraction) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", 100 * fraction);
  return text;
}

// Budgets are parts of a layer in percent, and seldom whole numbers.
std::string budget_text(double percent) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", percent);
  return text;
}

// p of TopP: "12", or "2k" for a multiple of k. Nothing if the text is neither.
std::optional<int64_t> top_of(const std::string& text, int64_t used) {
  const bool times_k = text.ends_with('k');
  const auto number = read_whole(text.substr(0, text.size() - (times_k ? 1 : 0)), {1, 4096});
  if (!number) return std::nullopt;
  return *number * (times_k ? used : 1);
}

// No budget below a slot makes sense, and none above all experts is possible.
CLI::Validator budget_in_percent() {
  return {[](const std::string& text) -> std::string {
            const auto percent = read_number(text, 0, 100);
            return percent && *percent > 0
                       ? ""
                       : "a budget is a number above 0 and up to 100, not '" + text.substr(0, 80) + "'";
          },
          "PERCENT"};
}

// A multiple of k is wanted because papers write 2k, and k differs between models.
CLI::Validator number_or_times_k() {
  return {[](const std::string& text) -> std::string {
            return top_of(text, 1)
                       ? ""
                       : "'" + text.substr(0, 80) + "' is neither a number from 1 to 4096 nor a multiple of k, as 2k";
          },
          "N|Nk"};
}

// A row for each policy, budget and way of asking. Each replay begins with an empty cache.
std::vector<ReplayRow> replay(const ReplayTrace& trace, const ReplayMoeFlags& flags,
                              const std::vector<std::string>& lookups) {
  ReplaySettings settings = flags.settings;
  settings.policy.top = *top_of(flags.top, trace.routing.trace.used);
  std::vector<std::string> names = flags.policies;
  if (names.empty())
    for (const PolicyKind& kind : expert_policies()) names.emplace_back(kind.name);
  std::vector<ReplayRow> rows;
  for (const std::string& name : names) {
    for (const double budget : flags.budgets) {
      for (const std::string& lookup : lookups) {
        settings.policy.lookup = lookup == "single" ? ExpertLookup::single : ExpertLookup::together;
        rows.push_back(replay_cache(trace.layers, *expert_policy(name), budget, settings));
      }
    }
  }
  return rows;
}

// Says what the trace contains, so that a reader of the rows knows what MRS could use.
nlohmann::json trace_json(const ReplayTrace& trace) {
  const RoutingTrace& routing = trace.routing.trace;
  std::set<int64_t> sequences;
  for (const TracedToken& token : routing.tokens) sequences.insert(token.sequence);
  return {{"path", trace.path},
          {"form", trace.routing.form},
          {"model", routing.model},
          {"experts", routing.experts},
          {"top_k", routing.used},
          {"layers", routing.layers},
          {"tokens", routing.tokens.size()},
          {"sequences", sequences.size()},
          {"has_weights", !routing.tokens.front().weights.empty()},
          {"has_scores", !trace.layers.front().scores.empty()},
          {"notes", trace.routing.notes}};
}

// One line for each policy and budget, one column for each lookup.
void print_rows(const std::vector<ReplayRow>& rows, const std::vector<std::string>& lookups) {
  std::printf("%-8s %6s %6s", "policy", "budget", "slots");
  for (const std::string& lookup : lookups) std::printf(" %10s", lookup.c_str());
  std::printf("   hit rate\n");
  for (size_t i = 0; i < rows.size(); i += lookups.size()) {
    const ReplayRow& row = rows[i];
    std::printf("%-8s %5s%% %6lld", std::string(row.policy->name).c_str(), budget_text(row.budget_percent).c_str(),
                static_cast<long long>(row.slots));
    for (size_t j = 0; j < lookups.size(); ++j) std::printf(" %9s%%", percent_text(rows[i + j].hit_rate()).c_str());
    if (row.policy->second_half) std::printf("   second half alone");
    std::printf("\n");
  }
}

// Bounds are named as bounds in words, since they stand in the same table as policies that an engine could have.
void print_text(const ReplayTrace& trace, const ReplayMoeFlags& flags, const std::vector<ReplayRow>& rows,
                const std::vector<std::string>& lookups) {
  const RoutingTrace& routing = trace.routing.trace;
  std::printf("%s: %zu tokens, %zu layers, %lld of %lld experts\n", trace.path.c_str(), routing.tokens.size(),
              routing.layers.size(), static_cast<long long>(routing.used), static_cast<long long>(routing.experts));
  if (trace.layers.front().scores.empty())
    std::printf("MRS takes the %lld weights for scores, because the trace has no more\n",
                static_cast<long long>(routing.used));
  print_rows(rows, lookups);
  std::printf(
      "chance: the budget itself. belady and bypass are bounds. %s\n",
      flags.settings.reset_each ? "All begins anew with each sequence." : "Caches are kept from sequence to sequence.");
  for (const std::string& line : mrs_lead(rows)) std::printf("%s\n", line.c_str());
}

// The first policy that an engine can have says what the GPU holds, with the first budget.
LaneSettings lanes_of(const ReplayMoeFlags& flags, const ReplayPage& page) {
  LaneSettings lanes{page.policies.front(), flags.budgets.front(), page.settings,
                     flags.costs.empty() ? costs_of_authors() : costs_in(flags.costs)};
  for (const PolicyKind* policy : page.policies) {
    if (policy->knows_future || policy->insertion != Insertion::every_miss) continue;
    lanes.policy = policy;
    break;
  }
  return lanes;
}

// This machine's memory as a card: read rates are measured now. GPU and host share it, so no link is needed.
Card this_machine() {
  const double gbps = RooflineProbe(usable_cores()).measure().read_all_gbps;
  return {"this machine, which reads " + short_number(gbps) + " GB/s",
          static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE)), gbps * 1e9,
          std::numeric_limits<double>::infinity()};
}

// Curves are by the first lookup that was asked for.
void write_page(const ReplayTrace& trace, const ReplayMoeFlags& flags, const std::vector<ReplayRow>& rows,
                const std::vector<std::string>& lookups) {
  ReplayPage page{trace, rows, {}, flags.settings};
  page.settings.policy.top = *top_of(flags.top, trace.routing.trace.used);
  page.settings.policy.lookup = lookups.front() == "single" ? ExpertLookup::single : ExpertLookup::together;
  for (const PolicyKind& kind : expert_policies())
    if (flags.policies.empty() || std::ranges::find(flags.policies, kind.name) != flags.policies.end())
      page.policies.push_back(&kind);
  page.lanes = lanes_of(flags, page);
  page.costs_of_lanes = flags.costs.empty() ? "those of HybriMoE's authors for an expert of DeepSeek-V2-Lite, in ms"
                                            : "those of --costs: " + flags.costs;
  if (!flags.shape.empty()) {
    const ModelConfig config = model_shape(flags.shape);
    page.model = expert_bytes(config, storage_type_named(flags.weights));
    if (page.model->experts != trace.routing.trace.experts || page.model->used != trace.routing.trace.used)
      throw Error("the trace is of another mixture than --shape", trace.path,
                  "It has " + std::to_string(trace.routing.trace.used) + " of " +
                      std::to_string(trace.routing.trace.experts) + " experts, the shape " +
                      std::to_string(page.model->used) + " of " + std::to_string(page.model->experts));
    page.model_name = config.name;
    page.weights = flags.weights;
  }
  for (const std::string& card : flags.cards) page.cards.push_back(card == "here" ? this_machine() : parse_card(card));
  write_output(flags.html, replay_page(page), while_unread(flags.html));
}

// JSON has one way of asking unless more are named, and the text shows both.
int run_replay(const ReplayMoeFlags& flags) {
  const ReplayTrace trace = read_replay_trace(flags.trace, flags.hints);
  for (const std::string& note : trace.routing.notes) std::fprintf(stderr, "note: %s\n", note.c_str());
  if (flags.settings.reset_each && !trace.routing.has_sequences)
    std::fprintf(stderr, "note: the file does not say where a text begins, so all of it is one sequence\n");
  std::vector<std::string> lookups = flags.lookups;
  if (lookups.empty())
    lookups = flags.json ? std::vector<std::string>{"together"} : std::vector<std::string>{"together", "single"};
  const std::vector<ReplayRow> rows = replay(trace, flags, lookups);
  if (!flags.html.empty()) write_page(trace, flags, rows, lookups);
  if (!flags.json) {
    print_text(trace, flags, rows, lookups);
    return kDone;
  }
  nlohmann::json listed = nlohmann::json::array();
  for (const ReplayRow& row : rows) listed.push_back(to_json(row));
  print_json({{"schema", 1}, {"trace", trace_json(trace)}, {"rows", listed}});
  return kDone;
}

// These change how a cache behaves, so they stand in a group of their own in the help.
void add_rule_flags(CLI::App& app, ReplayMoeFlags& flags) {
  const FlagGroup group(app, "Rules");
  add_named(app, "--reset", flags.settings.reset_each,
            std::vector<std::pair<std::string, bool>>{{"kept", false}, {"each", true}},
            "caches and policies are kept from sequence to sequence, or begin anew with each");
  app.add_option("--lookup", flags.lookups,
                 "together: a token asks for its experts at once; single: one after another, so that one may throw "
                 "out another; default: together in JSON, both in text")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"together", "single"}));
  app.add_option("--alpha", flags.settings.policy.alpha, "mrs: the share of a new token's scores")
      ->check(finite_range(0, 1))
      ->capture_default_str();
  app.add_option("--top", flags.top, "mrs: how many of a token's scores count, a number or a multiple of k")
      ->check(number_or_times_k())
      ->capture_default_str();
  app.add_option("--ema-alpha", flags.settings.policy.ema_alpha, "ema: the share of a new token")
      ->check(finite_range(0, 1))
      ->capture_default_str();
}

}  // namespace

// A plain file is read line by line, because much less is kept of a trace than its text. Other inputs are read whole at
// first. Both ways give the same requests.
ReplayTrace read_replay_trace(const std::string& path, const RoutingHints& hints) {
  ReplayTrace trace{path, {}, {}};
  if (path != "-" && std::filesystem::is_regular_file(path)) {
    std::ifstream file(path);
    if (!file) throw Error("recorded routing cannot be opened", path);
    trace.routing = read_recorded_routing(file, path, hints);
  } else {
    std::istringstream lines(read_file(path));
    trace.routing = read_recorded_routing(lines, path, hints);
  }
  for (size_t l = 0; l < trace.routing.trace.layers.size(); ++l)
    trace.layers.push_back(requests_of(trace.routing.trace, l));
  return trace;
}

nlohmann::json to_json(const ReplayRow& row) {
  return {{"policy", row.policy->name},
          {"budget_percent", row.budget_percent},
          {"reset", row.reset_each ? "each" : "kept"},
          {"lookup", name_of(row.lookup)},
          {"slots_per_layer", row.slots},
          {"requests", row.requests},
          {"hits", row.hits},
          {"hit_rate", row.hit_rate()},
          {"hits_by_layer", row.hits_by_layer}};
}

// Compares MRS with LRU row by row, because that is the claim of the paper (Y4).
std::vector<std::string> mrs_lead(const std::vector<ReplayRow>& rows) {
  std::vector<std::string> lines;
  for (const ReplayRow& lru : rows) {
    if (lru.policy->name != "lru") continue;
    for (const ReplayRow& mrs : rows) {
      if (mrs.policy->name != "mrs" || mrs.budget_percent != lru.budget_percent || mrs.lookup != lru.lookup) continue;
      const double points = 100 * (mrs.hit_rate() - lru.hit_rate());
      char text[160];
      std::snprintf(text, sizeof text, "mrs at %g %%, %s: %.1f points %s lru", mrs.budget_percent, name_of(mrs.lookup),
                    std::fabs(points), points < 0 ? "behind" : "ahead of");
      lines.emplace_back(text);
    }
  }
  return lines;
}

// Names and explanations of policies come from their table, so a new policy is in the help without a change here.
void add_replay_moe(CLI::App& app, Action& action) {
  auto flags = std::make_shared<ReplayMoeFlags>();
  std::vector<std::string> names;
  std::string explained = "policies, comma separated; default: all.";
  for (const PolicyKind& kind : expert_policies()) {
    names.emplace_back(kind.name);
    explained += " " + std::string(kind.name) + ": " + std::string(kind.explains) + ".";
  }
  reads_file(app.add_option("TRACE", flags->trace,
                            "recorded routing: of trace-moe, FLAME-MoE, vLLM, or CSV with the "
                            "columns layer and expert; - is standard input"))
      ->required();
  app.add_option("--policy", flags->policies, explained)
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember(names));
  app.add_option("--budget", flags->budgets, "slots of each layer, in percent of its experts")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(budget_in_percent())
      ->default_str("25,50,75");
  add_rule_flags(app, *flags);
  app.add_option("--experts", flags->hints.experts, "experts of a layer, where the file does not say it")
      ->transform(whole({1, 4096}));
  app.add_option("--top-k", flags->hints.used, "experts of a token, for CSV")->transform(whole({1, 4096}));
  writes_file(app.add_option("--html", flags->html, "write a page with the curves to this file"));
  CLI::Option* shape = app.add_option(
      "--shape", flags->shape, "the model, for --card: a published one (olmoe-1b-7b, ...), a .json or .gguf file");
  reads_file(shape, true)->check(shape_or_file());
  app.add_option("--weights", flags->weights, "storage type of its matrices, for --card")
      ->check(storage_type())
      ->capture_default_str();
  app.add_option("--card", flags->cards,
                 "a card for the page, modelled: gbps=960,memory=16,link=63 and name=NAME, in GB and GB/s; here: this "
                 "machine; several times")
      ->allow_extra_args(false)
      ->check(accepted_by("",
                          [](const std::string& text) {
                            if (text != "here") parse_card(text);
                          }))
      ->needs("--html")
      ->needs(shape);
  app.add_option("--costs", flags->costs,
                 "costs of the page's schedules, in any one unit, as for plan-experts: " + names_of_costs() +
                     "; default: those of HybriMoE's authors")
      ->allow_extra_args(false)
      ->check(accepted_by("NAME=COST,...", [](const std::string& text) { costs_in(text); }))
      ->needs("--html");
  app.add_flag("--json", flags->json, "one JSON object on standard output instead of text");
  app.callback([flags, &action] { action = [flags] { return run_replay(*flags); }; });
}

}  // namespace tandem::app
