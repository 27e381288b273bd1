#include "bench/spec/own_texts.h"

#include <array>
#include <cstdio>
#include <map>
#include <string>

#include "engine/run/serve/generate.h"
#include "sync/error.h"

namespace tandem::bench {
namespace {

constexpr std::array<SpecMode, 3> kRules = {SpecMode::pld, SpecMode::sam, SpecMode::sdnpu};
constexpr std::array<SpecOptions::Parts, 4> kParts = {{{false, false}, {false, true}, {true, false}, {true, true}}};

struct Count {
  int64_t tokens = 0, passes = 0;
  int64_t reused = 0, reused_accepted = 0, calibrated = 0, calibrated_accepted = 0;  // drafts
  int64_t runs = 0, right_runs = 0;
  double rate() const { return static_cast<double>(tokens) / static_cast<double>(passes); }
};
using Counts = std::array<std::array<Count, kParts.size()>, kRules.size()>;

void add(Count& count, const Generation& text) {
  count.tokens += std::ssize(text.ids) - 1;  // the first one came with the prompt
  count.passes += text.predicted_passes;
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

}  // namespace

int count_own_texts(Engine& engine, std::span<const Case> cases, int64_t predict) {
  std::map<std::string, Counts> tasks;
  for (const Case& each : cases) {
    GenerateOptions options;
    options.predict = predict;
    options.sampler.temperature = 0;
    options.spec.mode = SpecMode::none;
    const std::vector<int32_t> plain = generate(engine, each.prompt, options).ids;
    if (plain.size() < 2) continue;
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
  std::printf("Counted: texts of %lld tokens by the model itself on %s, trees of at most 63 drafts\n\n",
              static_cast<long long>(predict), engine.machine().device_names().c_str());
  std::printf(
      "| task | rule | alone | with S5 | with S2 | with both | gain of both | S5: accepted drafts | S5: runs "
      "accepted later | S2: accepted drafts |\n"
      "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  for (const auto& [task, counts] : tasks) {
    for (size_t r = 0; r < kRules.size(); ++r) {
      const auto& of = counts[r];
      std::printf("| %s | %s | %.2f | %.2f | %.2f | %.2f | %.3f | %s | %s | %s |\n", task.c_str(), to_string(kRules[r]),
                  of[0].rate(), of[1].rate(), of[2].rate(), of[3].rate(), of[3].rate() / of[0].rate(),
                  share(of[1].reused_accepted, of[1].reused).c_str(), share(of[1].right_runs, of[1].runs).c_str(),
                  share(of[2].calibrated_accepted, of[2].calibrated).c_str());
    }
  }
  return 0;
}

}  // namespace tandem::bench
