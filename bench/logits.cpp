// Question: what do logits cost that stay in the buffer of their pass, beside a copy of them?
//
//   logits [-m MODEL] [--tokens 1,16,128,256] [--plan NAME] [--device ID,...] [--rounds N]
//
// Each token of a pass gets logits. A copy goes to memory of its own that was not written before. Kept logits stay in
// place while the next pass runs, so that one writes to another buffer (Engine::keep_in_place()). The first pass that
// writes to a buffer makes its plan and programs for it, with compiled kernels. Plans are asked for by name, so nothing
// is compared meanwhile. The two ways take turns. Times are wall-clock times: the least of the rounds, which other
// processes disturb least.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/engines.h"
#include "engine/run/engine.h"
#include "sync/clock.h"
#include "sync/error.h"

namespace {

using namespace tandem;

struct Options {
  std::string model = bench::default_model(), plan = "gpu-only";
  std::vector<std::string> devices;
  std::vector<int64_t> tokens = {1, 16, 128, 256};
  int rounds = 9;
};

double least(const std::vector<double>& all) { return *std::ranges::min_element(all); }

struct Row {
  double pass_us = 0, copy_us = 0, kept_pass_us = 0, first_us = 0;
};

// Both times are of one pass: the engine's own time, and the copy behind it. Reading a value of the copy keeps the
// compiler from leaving it out.
Row time_passes(Engine& engine, int64_t tokens, int rounds) {
  const auto ids = bench::some_ids(engine.model().vocabulary(), tokens);
  const auto timed_pass = [&](Logits& logits) {
    Sequence text = engine.cache().new_sequence();
    const Extension all{&text, ids, tokens, {}};
    const double begin = now_seconds();
    logits = engine.extend({&all, 1});
    return 1e6 * (now_seconds() - begin);
  };
  std::vector<double> passes, copies, kept_passes, firsts;
  Logits kept;
  for (int round = 0; round <= rounds; ++round) {
    Logits logits;
    kept = {};
    const double pass = timed_pass(logits), begin = now_seconds();
    const std::vector<float> copy(logits.begin(), logits.end());
    const double copied = 1e6 * (now_seconds() - begin);
    engine.keep_in_place(logits);
    kept = logits;  // the next pass has to write elsewhere
    Logits next;
    const double kept_pass = timed_pass(next);
    if (next.data() == kept.data() || !std::ranges::equal(next, copy)) throw Error("kept logits differ", "logits");
    if (round == 0) {  // the first passes prepare
      firsts.push_back(kept_pass);
      continue;
    }
    passes.push_back(pass);
    copies.push_back(copied);
    kept_passes.push_back(kept_pass);
  }
  return {least(passes), least(copies), least(kept_passes), firsts.front() - least(kept_passes)};
}

// Rows for each number of tokens. The last column says what another buffer would cost instead of a copy.
int run(const Options& options) {
  EngineOptions all;
  all.model_path = options.model;
  all.plan = options.plan;
  all.devices = options.devices;
  all.context = 4096;
  all.logit_rows = *std::ranges::max_element(options.tokens);
  const auto engine = Engine::open(all);
  std::printf("| tokens | pass, us | copy of its logits, us | pass beside kept ones, us | its first time, us more |\n");
  std::printf("| ---: | ---: | ---: | ---: | ---: |\n");
  for (const int64_t tokens : options.tokens) {
    const Row row = time_passes(*engine, tokens, options.rounds);
    std::printf("| %lld | %.0f | %.0f | %.0f | %.0f |\n", static_cast<long long>(tokens), row.pass_us, row.copy_us,
                row.kept_pass_us, row.first_us);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("logits: what keeping them costs, and what a copy does");
  app.add_option("-m,--model", options.model, "GGUF file; default: the one that ./dev run fetched");
  app.add_option("--plan", options.plan, "the plan of all passes");
  app.add_option("--device", options.devices, "devices, comma separated")->delimiter(',');
  app.add_option("--tokens", options.tokens, "tokens of the passes, comma separated")
      ->delimiter(',')
      ->check(CLI::Range(1, 512));
  app.add_option("--rounds", options.rounds, "rounds that count")->check(CLI::Range(1, 10'000));
  return bench::bench_main(app, argc, argv, [&] {
    bench::require_model(options.model);
    return run(options);
  });
}
