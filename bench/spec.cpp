// Question: how much faster is a text written with drafts (S4), and does any text lose?
//
//   spec --cases FILE [-m MODEL] [--device LIST] [--act TYPE] [--rounds N] [--texts N] [--history]
//   spec --own --cases FILE [--keep FILE], spec --passes [--depth N], spec --drafting
//
// FILE has a JSON object a line: {"task", "prompt": [ids], "output": [ids]} (bench/spec_cases.py makes it of recorded
// outputs). The output decides the tokens of the text, whatever the model would write, and passes are real. So a text
// of a large model can be timed on a small one. Each text is written without and with drafts in turn, in one engine.
// The tokens are compared before anything is timed. --history: outputs of one task are the history of its next texts.
// --texts: so many texts at once. --own: the prompts of FILE, and what the model itself writes behind them; --keep:
// cases of it. --passes: the time of passes by their drafts. --graphs: what loading the NPU's graphs costs
// (bench/spec/graphs.h). --drafting: the time of drafting alone, at 100,000 tokens of context and a million of
// history tokens.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "bench/engines.h"
#include "bench/spec/cases.h"
#include "bench/spec/graphs.h"
#include "bench/spec/own_texts.h"
#include "bench/spec/passes.h"
#include "bench/spec/replay.h"
#include "engine/device/gpu/kept_file.h"
#include "engine/draft/text_drafts.h"
#include "engine/plan/prediction/statistics.h"
#include "engine/run/serve/generate.h"
#include "engine/tensor/activation.h"
#include "sync/clock.h"
#include "sync/error.h"

namespace {

using namespace tandem;
using bench::read_cases;

struct Options {
  std::string model = bench::default_model(), cases, act, keep;
  std::vector<std::string> devices;
  bench::ReplayOptions replay;
  bool drafting = false, own = false, passes = false, graphs = false;
  int64_t depth = 512, predict = 128;
  bench::GraphBenchOptions of_graphs;
};

// One engine for all texts, with room for their drafts.
std::unique_ptr<Engine> open_engine(const Options& options) {
  EngineOptions engine_options;
  engine_options.model_path = options.model;
  engine_options.devices = options.devices;
  engine_options.sequences = options.replay.texts;
  engine_options.logit_rows = options.replay.texts + options.replay.draft_max;
  engine_options.drafts = true;
  engine_options.listed_tokens = kListedTokens;
  engine_options.program_folder = gpu::default_cache_folder();
  if (!options.act.empty())
    engine_options.act = options.act == "i8" ? ActType::i8 : options.act == "f16" ? ActType::f16 : ActType::f32;
  return Engine::open(engine_options);
}

// Words of a made-up language: pieces of 3,000 tokens that come again with changes. Drafting by itself, without a
// model: how long a token and a step take when context and history are long.
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

// The modes have flags of their own, since they share a model and little else.
int main(int argc, char** argv) {
  Options options;
  CLI::App app("spec: texts with and without drafts");
  app.add_option("-m,--model", options.model, "GGUF file; default: the one that ./dev run fetched");
  app.add_option("--cases", options.cases, "recorded texts, an object a line");
  app.add_option("--device", options.devices, "as tandem's")->delimiter(',');
  app.add_option("--act", options.act, "f32, f16 or i8")->check(CLI::IsMember({"f32", "f16", "i8"}));
  app.add_option("--rounds", options.replay.rounds, "how often each text is written either way")
      ->check(CLI::Range(1, 100));
  app.add_option("--texts", options.replay.texts, "texts at once")->check(CLI::Range(1, 64));
  app.add_option("--draft-max", options.replay.draft_max, "most drafts of a text in a pass")->check(CLI::Range(1, 63));
  app.add_option_function<std::string>(
         "--spec",
         [&](const std::string& name) {
           for (const SpecMode mode : {SpecMode::automatic, SpecMode::pld, SpecMode::sam, SpecMode::sdnpu})
             if (name == to_string(mode)) options.replay.mode = mode;
         },
         "auto, sdnpu, pld or sam")
      ->check(CLI::IsMember({"auto", "sdnpu", "pld", "sam"}));
  app.add_flag("--history", options.replay.history, "outputs of a task are the history of its next texts");
  app.add_flag("--own", options.own, "texts of the model itself behind the prompts, by each part of the system");
  app.add_option("-n,--predict", options.predict, "with --own: tokens of each text")->check(CLI::Range(2, 4096));
  app.add_option("--keep", options.keep, "with --own: a file that gets the texts as cases, for a replay");
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
  app.add_option("--load-rate", options.of_graphs.load_mebibytes,
                 "with --graphs: no load is faster than so many MiB a second, as from slower storage")
      ->check(CLI::Range(1, 1 << 20));
  return bench::bench_main(app, argc, argv, [&] {
    if (options.drafting) return measure_drafting();
    bench::require_model(options.model);
    if (options.own) options.replay.draft_max = 63;
    if (options.passes) return bench::time_draft_passes(*open_engine(options), options.depth, options.replay.rounds);
    if (options.own)
      return bench::count_own_texts(*open_engine(options), read_cases(options.cases), options.predict, options.keep);
    if (options.graphs) {
      options.of_graphs.model = options.model;
      options.of_graphs.devices = options.devices;
      options.of_graphs.rounds = options.replay.rounds;
      return measure_graphs(options.of_graphs);
    }
    const auto engine = open_engine(options);
    return bench::replay_texts(*engine, read_cases(options.cases), options.replay);
  });
}
