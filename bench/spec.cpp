// Question: how much faster is a text written with drafts (S4), and does any text lose?
//
//   spec --cases FILE [-m MODEL] [--device LIST] [--act TYPE] [--rounds N] [--texts N] [--history]
//   spec --own --cases FILE, spec --passes [--depth N], spec --drafting
//
// FILE has a JSON object a line: {"task", "prompt": [ids], "output": [ids]} (bench/spec_cases.py makes it of recorded
// outputs). The output decides the tokens of the text, whatever the model would write, and passes are real. So a text
// of a large model can be timed on a small one. Each text is written without and with drafts in turn, in one engine.
// The tokens are compared before anything is timed. --history: outputs of one task are the history of its next texts.
// --texts: so many texts at once. --own: the prompts of FILE, and what the model itself writes behind them. --passes:
// the time of passes by their drafts. --graphs: what loading the NPU's graphs costs (bench/spec/graphs.h). --drafting:
// the time of drafting alone, at 100,000 tokens of context and a million tokens of history.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "bench/engines.h"
#include "bench/spec/cases.h"
#include "bench/spec/graphs.h"
#include "bench/spec/own_texts.h"
#include "bench/spec/passes.h"
#include "engine/device/gpu/kept_file.h"
#include "engine/draft/text_drafts.h"
#include "engine/plan/prediction/statistics.h"
#include "engine/run/serve/generate.h"
#include "engine/tensor/activation.h"
#include "sync/clock.h"
#include "sync/error.h"

namespace {

using namespace tandem;
using bench::Case;
using bench::read_cases;

struct Options {
  std::string model = bench::default_model(), cases, act;
  std::vector<std::string> devices;
  SpecMode mode = SpecMode::automatic;
  int64_t draft_max = 15;
  int rounds = 2, texts = 1;
  bool history = false, drafting = false, own = false, passes = false, graphs = false;
  int64_t depth = 512, predict = 128;
  bench::GraphBenchOptions of_graphs;
};

// One or several texts at once, and what they took.
struct Written {
  double seconds = 0;  // of all passes that wrote tokens
  int64_t tokens = 0, passes = 0, drafts = 0, accepted = 0;
};

Written write(Engine& engine, std::span<const Case> cases, const SpecOptions& spec) {
  Batcher batcher(engine, std::ssize(cases));
  Written written;
  for (const Case& each : cases) {
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
  while (batcher.step()) {
  }
  return written;
}

struct Sums {
  std::vector<double> plain, drafted, gains;  // seconds of each text, and their ratios
  int64_t tokens = 0, passes = 0, drafts = 0, accepted = 0;
  double worst = 1e9;  // gain of a text of 100 tokens and more
};

void print(const std::map<std::string, Sums>& tasks) {
  std::printf(
      "| task | texts | tokens | tokens/s without | with drafts | gain | tokens a pass | accepted | least gain, 100 "
      "tokens and more |\n");
  std::printf("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  for (const auto& [task, sums] : tasks) {
    const auto sum = [](const std::vector<double>& all) { return std::accumulate(all.begin(), all.end(), 0.0); };
    const auto tokens = static_cast<double>(sums.tokens);
    std::printf("| %s | %zu | %lld | %.1f | %.1f | %.3f | %.2f | %.0f %% | %.3f |\n", task.c_str(), sums.plain.size(),
                static_cast<long long>(sums.tokens), tokens / sum(sums.plain), tokens / sum(sums.drafted),
                sum(sums.plain) / sum(sums.drafted), tokens / static_cast<double>(sums.passes),
                sums.drafts ? 100.0 * static_cast<double>(sums.accepted) / static_cast<double>(sums.drafts) : 0.0,
                sums.worst);
  }
}

std::unique_ptr<Engine> open_engine(const Options& options) {
  EngineOptions engine_options;
  engine_options.model_path = options.model;
  engine_options.devices = options.devices;
  engine_options.sequences = options.texts;
  engine_options.logit_rows = options.texts + options.draft_max;
  engine_options.drafts = true;
  engine_options.listed_tokens = kListedTokens;
  engine_options.program_folder = gpu::default_cache_folder();
  if (!options.act.empty())
    engine_options.act = options.act == "i8" ? ActType::i8 : options.act == "f16" ? ActType::f16 : ActType::f32;
  return Engine::open(engine_options);
}

int measure(const Options& options) {
  const std::vector<Case> cases = read_cases(options.cases);
  const auto engine = open_engine(options);
  std::map<std::string, Sums> tasks;
  std::map<std::string, std::shared_ptr<TextHistory>> histories;
  for (size_t begin = 0; begin < cases.size(); begin += static_cast<size_t>(options.texts)) {
    const auto together =
        std::span(cases).subspan(begin, std::min(static_cast<size_t>(options.texts), cases.size() - begin));
    const Case& first = together.front();
    auto& history = histories[first.task];
    if (!history && options.history) history = std::make_shared<TextHistory>();
    std::vector<double> plain, drafted;
    Written with;
    for (int round = 0; round < options.rounds; ++round) {
      for (const bool drafts : {round % 2 == 1, round % 2 == 0}) {
        SpecOptions spec;
        spec.mode = drafts ? options.mode : SpecMode::none;
        spec.draft_max = options.draft_max;
        // A copy of the history, because the text itself must not be in it.
        if (drafts && history) {
          spec.history = std::make_shared<TextHistory>();
          for (int64_t r = 0; r < history->records().records(); ++r) spec.history->add(history->records().record(r));
        }
        const Written written = write(*engine, together, spec);
        (drafts ? drafted : plain).push_back(written.seconds);
        if (drafts) with = written;
      }
    }
    if (history)
      for (const Case& each : together) history->add(each.output);
    Sums& sums = tasks[first.task];
    sums.plain.push_back(median(plain));
    sums.drafted.push_back(median(drafted));
    const double gain = sums.plain.back() / sums.drafted.back();
    sums.gains.push_back(gain);
    if (with.tokens >= 99 * std::ssize(together)) sums.worst = std::min(sums.worst, gain);
    sums.tokens += with.tokens;
    sums.passes += with.passes;
    sums.drafts += with.drafts;
    sums.accepted += with.accepted;
  }
  std::printf("Measured: replay of recorded outputs on %s, act %s, %s, at most %lld drafts, %d text(s) at once\n\n",
              engine->machine().device_names().c_str(), to_string(*engine->options().act), to_string(options.mode),
              static_cast<long long>(options.draft_max), options.texts);
  print(tasks);
  std::printf("\n| tokens of a pass | ms (median) |\n| ---: | ---: |\n");
  for (const auto& [tokens, seconds] : engine->plans().times().measured())
    std::printf("| %lld | %.2f |\n", static_cast<long long>(tokens), seconds * 1e3);
  return 0;
}

// Words of a made-up language: pieces of 3,000 tokens that come again with changes.
int measure_drafting() {
  std::mt19937 random(1);
  std::vector<int32_t> piece(3000);
  for (int32_t& token : piece) token = static_cast<int32_t>(random() % 49000);
  const auto token_at = [&](size_t place) {
    return random() % 20 ? piece[place % piece.size()] : static_cast<int32_t>(random() % 49000);
  };
  TextDraftOptions options;
  options.history = std::make_shared<DraftHistory>();
  for (int record = 0; record < 2000; ++record) {
    std::vector<int32_t> text(500);
    for (size_t i = 0; i < text.size(); ++i) text[i] = token_at(i + static_cast<size_t>(record) * 7);
    options.history->add(text);
  }
  options.history->compact();
  AcceptanceRates rates;
  TextDrafts drafts(options, rates);
  constexpr size_t kContext = 100000, kSteps = 2000;
  double start = now_seconds();
  for (size_t i = 0; i < kContext; ++i) drafts.append(token_at(i));
  const double append_us = (now_seconds() - start) * 1e6 / kContext;
  double steps = 0;
  int64_t nodes = 0;
  for (size_t i = 0; i < kSteps; ++i) {
    start = now_seconds();
    drafts.find_candidates();
    nodes += merged(drafts.candidates(), 64).nodes();
    steps += now_seconds() - start;
    drafts.append(token_at(kContext + i));
  }
  std::printf("Measured: drafting at %zu tokens of context and %lld of history\n\n", kContext,
              static_cast<long long>(options.history->tokens()));
  std::printf(
      "| | |\n| --- | ---: |\n| a token appended, us | %.2f |\n| a step of %.0f nodes, us | %.2f |\n| history, bytes a "
      "token | %.1f |\n",
      append_us, static_cast<double>(nodes) / kSteps, steps * 1e6 / kSteps,
      static_cast<double>(options.history->bytes()) / static_cast<double>(options.history->tokens()));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("spec: texts with and without drafts");
  app.add_option("-m,--model", options.model, "GGUF file; default: the one that ./dev run fetched");
  app.add_option("--cases", options.cases, "recorded texts, an object a line");
  app.add_option("--device", options.devices, "as tandem's")->delimiter(',');
  app.add_option("--act", options.act, "f32, f16 or i8")->check(CLI::IsMember({"f32", "f16", "i8"}));
  app.add_option("--rounds", options.rounds, "how often each text is written either way")->check(CLI::Range(1, 100));
  app.add_option("--texts", options.texts, "texts at once")->check(CLI::Range(1, 64));
  app.add_option("--draft-max", options.draft_max, "most drafts of a text in a pass")->check(CLI::Range(1, 63));
  app.add_option_function<std::string>(
         "--spec",
         [&](const std::string& name) {
           for (const SpecMode mode : {SpecMode::automatic, SpecMode::pld, SpecMode::sam, SpecMode::sdnpu})
             if (name == to_string(mode)) options.mode = mode;
         },
         "auto, sdnpu, pld or sam")
      ->check(CLI::IsMember({"auto", "sdnpu", "pld", "sam"}));
  app.add_flag("--history", options.history, "outputs of a task are the history of its next texts");
  app.add_flag("--own", options.own, "texts of the model itself behind the prompts, by each part of the system");
  app.add_option("-n,--predict", options.predict, "with --own: tokens of each text")->check(CLI::Range(2, 4096));
  app.add_flag("--passes", options.passes, "time passes by their drafts; needs no cases");
  app.add_option("--depth", options.depth, "with --passes: tokens before the pass")->check(CLI::Range(1, 1 << 20));
  app.add_flag("--drafting", options.drafting, "time drafting alone; needs no cases");
  app.add_flag("--graphs", options.graphs, "time what loading the NPU's graphs costs; needs no cases");
  app.add_option("--npu-memory", options.of_graphs.npu_mebibytes, "with --graphs, as tandem's; default: the least")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--plan", options.of_graphs.plan, "with --graphs, as tandem's")->capture_default_str();
  app.add_option("--prompts", options.of_graphs.lengths, "with --graphs: tokens of the prompts, comma separated")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--chunk", options.of_graphs.chunk, "with --graphs, as tandem's")->check(CLI::Range(1, 1 << 20));
  app.add_flag("--cold", options.of_graphs.cold, "with --graphs: every load reads storage");
  return bench::bench_main(app, argc, argv, [&] {
    if (options.drafting) return measure_drafting();
    bench::require_model(options.model);
    if (options.own) options.draft_max = 63;
    if (options.passes) return bench::time_draft_passes(*open_engine(options), options.depth, options.rounds);
    if (options.own) return bench::count_own_texts(*open_engine(options), read_cases(options.cases), options.predict);
    if (options.graphs) {
      options.of_graphs.model = options.model;
      options.of_graphs.devices = options.devices;
      options.of_graphs.rounds = options.rounds;
      return measure_graphs(options.of_graphs);
    }
    return measure(options);
  });
}
