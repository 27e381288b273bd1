// Counts what drafts of each source gain on texts that the model writes itself. Counts need no clock, so one run
// is enough.
#include "bench/spec/own_texts.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "engine/run/serve/generate.h"
#include "sync/error.h"

namespace tandem::bench {
namespace {

// All rules, each with no part, with S5, with S2 and with both.
constexpr std::array<SpecMode, 3> kRules = {SpecMode::pld, SpecMode::sam, SpecMode::sdnpu};
constexpr std::array<SpecOptions::Parts, 4> kParts = {{{false, false}, {false, true}, {true, false}, {true, true}}};

// The passes and drafts of one task's texts, by one rule with one set of parts.
struct Count {
  int64_t tokens = 0, passes = 0, drafts = 0;
  int64_t reused = 0, reused_accepted = 0, calibrated = 0, calibrated_accepted = 0;  // drafts
  int64_t runs = 0, right_runs = 0;
  double rate() const { return static_cast<double>(tokens) / static_cast<double>(passes); }
  double width() const { return 1 + static_cast<double>(drafts) / static_cast<double>(passes); }  // tokens that ran
};
using Counts = std::array<std::array<Count, kParts.size()>, kRules.size()>;

// Sums over the texts of a task.
void add(Count& count, const Generation& text) {
  count.tokens += std::ssize(text.ids) - 1;  // the first one came with the prompt
  count.passes += text.predicted_passes;
  count.drafts += text.drafts.drafts;
  const auto source = [&](const char* name) {
    const auto found = text.drafts.sources.find(name);
    return found == text.drafts.sources.end() ? DraftTotals::Source{} : found->second;
  };
  count.reused += source("reused").drafts;
  count.reused_accepted += source("reused").accepted;
  count.calibrated += source("calibrated").drafts;
  count.calibrated_accepted += source("calibrated").accepted;
  count.runs += text.drafts.runs;
  count.right_runs += text.drafts.right_runs;
}

std::string share(int64_t accepted, int64_t drafts) {
  if (drafts == 0) return "-";
  char text[64];
  std::snprintf(text, sizeof text, "%lld of %lld", static_cast<long long>(accepted), static_cast<long long>(drafts));
  return text;
}

std::string tokens_a_pass(const Count& count) {
  char text[64];
  std::snprintf(text, sizeof text, "%.2f of %.1f", count.rate(), count.width());
  return text;
}

// The gains of S2 and S5 over the rule alone that the paper prints for its three models (SF61 to SF76).
std::string printed_gain(const std::string& task, SpecMode rule) {
  static const std::map<std::pair<std::string, SpecMode>, const char*> kPrinted = {
      {{"summary", SpecMode::pld}, "1.15 to 1.19"}, {{"summary", SpecMode::sam}, "1.17 to 1.24"},
      {{"rag", SpecMode::pld}, "1.16 to 1.19"},     {{"rag", SpecMode::sam}, "1.19 to 1.24"},
      {{"ui", SpecMode::pld}, "1.05 to 1.16"},      {{"ui", SpecMode::sam}, "1.06 to 1.20"}};
  const auto found = kPrinted.find({task, rule});
  return found == kPrinted.end() ? "-" : found->second;
}

// The gains of the parts over the rule alone, beside those that the paper prints.
void print_gains(const std::map<std::string, Counts>& tasks) {
  std::printf(
      "\n| task | rule | gain of S5 | of S2 | of both | the paper's | runs accepted later |\n"
      "| --- | --- | ---: | ---: | ---: | ---: | ---: |\n");
  for (const auto& [task, counts] : tasks)
    for (size_t r = 0; r < kRules.size(); ++r) {
      const auto& of = counts[r];
      const double runs = of[1].runs > 0 ? static_cast<double>(of[1].right_runs) / static_cast<double>(of[1].runs) : 0;
      std::printf("| %s | %s | %.3f | %.3f | %.3f | %s | %.0f %% |\n", task.c_str(), to_string(kRules[r]),
                  of[1].rate() / of[0].rate(), of[2].rate() / of[0].rate(), of[3].rate() / of[0].rate(),
                  printed_gain(task, kRules[r]).c_str(), 100 * runs);
    }
}

// SF60's order: each baseline gives more tokens a pass with the paper's parts than without.
void print_order(const std::map<std::string, Counts>& tasks) {
  for (const auto& [task, counts] : tasks)
    for (size_t r = 0; r < kRules.size(); ++r) {
      if (kRules[r] == SpecMode::sdnpu) continue;
      const bool holds = counts[r][3].rate() > counts[r][0].rate();
      std::printf("%s: %s with S2 and S5 > %s: %s\n", task.c_str(), to_string(kRules[r]), to_string(kRules[r]),
                  holds ? "holds" : "does not hold");
    }
}

}  // namespace

// Each prompt is continued without drafts first. Then every rule with every set of parts writes the same text, and
// another text would be an error.
int count_own_texts(Engine& engine, std::span<const Case> cases, int64_t predict, const std::string& kept) {
  std::map<std::string, Counts> tasks;
  std::ofstream written(kept);
  if (!kept.empty() && !written) throw Error("cannot write the texts", kept, "Name a file");
  for (const Case& each : cases) {
    GenerateOptions options;
    options.predict = predict;
    options.sampler.temperature = 0;
    options.spec.mode = SpecMode::none;
    const std::vector<int32_t> plain = generate(engine, each.prompt, options).ids;
    if (plain.size() < 2) continue;
    if (!kept.empty())
      written << nlohmann::json{{"task", each.task}, {"prompt", each.prompt}, {"output", plain}} << std::endl;
    for (size_t r = 0; r < kRules.size(); ++r) {
      for (size_t p = 0; p < kParts.size(); ++p) {
        options.spec.mode = kRules[r];
        options.spec.draft_max = 63;
        options.spec.parts = kParts[p];
        const Generation text = generate(engine, each.prompt, options);
        if (text.ids != plain) throw Error("drafts changed the text", each.task);
        add(tasks[each.task][r][p], text);
      }
    }
  }
  std::printf(
      "Counted: texts of at most %lld tokens by the model itself on %s, trees of at most 63 drafts. Tokens of the text "
      "a "
      "pass, of so many that ran in it\n\n",
      static_cast<long long>(predict), engine.machine().device_names().c_str());
  std::printf(
      "| task | rule | alone | with S5 | with S2 | with both | S5: accepted drafts | S5: runs "
      "accepted later | S2: accepted drafts |\n"
      "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  for (const auto& [task, counts] : tasks) {
    for (size_t r = 0; r < kRules.size(); ++r) {
      const auto& of = counts[r];
      std::printf("| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", task.c_str(), to_string(kRules[r]),
                  tokens_a_pass(of[0]).c_str(), tokens_a_pass(of[1]).c_str(), tokens_a_pass(of[2]).c_str(),
                  tokens_a_pass(of[3]).c_str(), share(of[1].reused_accepted, of[1].reused).c_str(),
                  share(of[1].right_runs, of[1].runs).c_str(),
                  share(of[2].calibrated_accepted, of[2].calibrated).c_str());
    }
  }
  print_gains(tasks);
  std::printf("\n");
  print_order(tasks);
  return 0;
}

}  // namespace tandem::bench
