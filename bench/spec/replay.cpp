// Writes recorded outputs again, with and without drafts, and compares the times. A replay forces the recorded tokens,
// so every model writes the same text.
#include "bench/spec/replay.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "engine/plan/prediction/statistics.h"
#include "engine/run/serve/generate.h"
#include "sync/clock.h"
#include "sync/error.h"

namespace tandem::bench {
namespace {

using PassSeconds = std::map<int64_t, std::vector<double>>;  // by the tokens of a pass

void add_passes(PassSeconds& to, const PassSeconds& from) {
  for (const auto& [tokens, seconds] : from) to[tokens].insert(to[tokens].end(), seconds.begin(), seconds.end());
}

// One or several texts at once, and what they took.
struct Written {
  double seconds = 0;  // of all passes that wrote tokens
  int64_t tokens = 0, passes = 0, drafts = 0, accepted = 0;
  PassSeconds pass_seconds;  // of the passes behind the prompts
};

// Writes recorded texts through the batcher. The recorded output decides each token, so drafts are accepted as they
// would have been.
Written write(Engine& engine, std::span<const Case> cases, const SpecOptions& spec) {
  Batcher batcher(engine, std::ssize(cases));
  Written written;
  int64_t prompt_tokens = 0;
  for (const Case& each : cases) {
    prompt_tokens += std::ssize(each.prompt);
    GenerateOptions options;
    options.predict = std::ssize(each.output);
    options.ignore_end = true;
    options.replayed = each.output;
    options.spec = spec;
    batcher.add(each.prompt, options, [&](Batcher::Result result) {
      if (result.error) std::rethrow_exception(result.error);
      const Generation& text = result.generation;
      if (text.ids != each.output) throw Error("the text is not the recorded one", each.task);
      written.seconds += text.predicted_seconds / static_cast<double>(cases.size());
      written.tokens += std::ssize(text.ids) - 1;
      written.passes += text.predicted_passes;
      written.drafts += text.drafts.drafts;
      written.accepted += text.drafts.accepted;
    });
  }
  int64_t tokens = 0;
  for (double start = now_seconds(); batcher.step(); start = now_seconds()) {
    // Passes that still read prompts are left out: they are not what drafts make faster.
    const int64_t before = std::exchange(tokens, batcher.totals().pass_tokens);
    if (before >= prompt_tokens) written.pass_seconds[tokens - before].push_back(now_seconds() - start);
  }
  return written;
}

// The sums of one task: its texts without and with drafts.
struct Sums {
  std::vector<double> plain, drafted;  // seconds of each text
  int64_t tokens = 0, passes = 0, drafts = 0, accepted = 0;
  double worst = 1e9;  // gain of a text of 100 tokens and more
  PassSeconds plain_passes, drafted_passes;
};

// The time of passes if each took the median of its width. Hiccups do not count there.
double seconds_by_medians(const PassSeconds& passes) {
  double seconds = 0;
  for (const auto& [tokens, each] : passes) seconds += static_cast<double>(each.size()) * median(each);
  return seconds;
}

double sum(const std::vector<double>& all) { return std::accumulate(all.begin(), all.end(), 0.0); }

// A row for each task. The gain by medians leaves out passes that other programs have slowed down.
void print(const std::map<std::string, Sums>& tasks) {
  std::printf(
      "| task | texts | tokens | tokens/s without | with drafts | gain | allowed | tokens a pass | accepted | least "
      "gain, 100 tokens and more |\n");
  std::printf("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  for (const auto& [task, sums] : tasks) {
    const auto tokens = static_cast<double>(sums.tokens);
    std::printf("| %s | %zu | %lld | %.1f | %.1f | %.3f | %.3f | %.2f | %.0f %% | %.3f |\n", task.c_str(),
                sums.plain.size(), static_cast<long long>(sums.tokens), tokens / sum(sums.plain),
                tokens / sum(sums.drafted), sum(sums.plain) / sum(sums.drafted),
                seconds_by_medians(sums.plain_passes) / seconds_by_medians(sums.drafted_passes),
                tokens / static_cast<double>(sums.passes),
                sums.drafts ? 100.0 * static_cast<double>(sums.accepted) / static_cast<double>(sums.drafts) : 0.0,
                sums.worst);
  }
}

// A copy of the history, because the text itself must not be in it.
std::shared_ptr<TextHistory> copy_of(TextHistory& history) {
  auto copy = std::make_shared<TextHistory>();
  for (int64_t r = 0; r < history.records().records(); ++r) copy->add(history.records().record(r));
  return copy;
}

// A round writes the texts both ways, in an order that changes from round to round.
void replay(Engine& engine, std::span<const Case> together, TextHistory* history, const ReplayOptions& options,
            Sums& sums) {
  std::vector<double> plain, drafted;
  Written with;
  for (int round = 0; round < options.rounds; ++round) {
    for (const bool drafts : {round % 2 == 1, round % 2 == 0}) {
      SpecOptions spec;
      spec.mode = drafts ? options.mode : SpecMode::none;
      spec.draft_max = options.draft_max;
      if (drafts && history) spec.history = copy_of(*history);
      Written written = write(engine, together, spec);
      (drafts ? drafted : plain).push_back(written.seconds);
      add_passes(drafts ? sums.drafted_passes : sums.plain_passes, written.pass_seconds);
      if (drafts) with = std::move(written);
    }
  }
  sums.plain.push_back(median(plain));
  sums.drafted.push_back(median(drafted));
  // A short text says little about a loss, so the least gain is that of texts with about a hundred tokens or more.
  if (with.tokens >= 99 * std::ssize(together))
    sums.worst = std::min(sums.worst, sums.plain.back() / sums.drafted.back());
  sums.tokens += with.tokens;
  sums.passes += with.passes;
  sums.drafts += with.drafts;
  sums.accepted += with.accepted;
}

}  // namespace

// A finished text enters its task's history, as it would in use.
int replay_texts(Engine& engine, const std::vector<Case>& cases, const ReplayOptions& options) {
  std::map<std::string, Sums> tasks;
  std::map<std::string, std::shared_ptr<TextHistory>> histories;
  for (size_t begin = 0; begin < cases.size(); begin += static_cast<size_t>(options.texts)) {
    const auto together =
        std::span(cases).subspan(begin, std::min(static_cast<size_t>(options.texts), cases.size() - begin));
    auto& history = histories[together.front().task];
    if (!history && options.history) history = std::make_shared<TextHistory>();
    replay(engine, together, history.get(), options, tasks[together.front().task]);
    if (!history) continue;
    for (const Case& each : together) history->add(each.output);
  }
  std::printf("Measured: replay of recorded outputs on %s, act %s, %s, at most %lld drafts, %d text(s) at once\n\n",
              engine.machine().device_names().c_str(), to_string(*engine.options().act), to_string(options.mode),
              static_cast<long long>(options.draft_max), options.texts);
  print(tasks);
  std::printf("\n| tokens of a pass | ms (median) |\n| ---: | ---: |\n");
  for (const auto& [tokens, seconds] : engine.plans().times().measured())
    std::printf("| %lld | %.2f |\n", static_cast<long long>(tokens), seconds * 1e3);
  return 0;
}

}  // namespace tandem::bench
