// Question: what does a copy of a pass's logits cost, beside the pass and beside preparing the pass for another buffer?
//
//   logits [-m MODEL] [--tokens 1,16,128,256] [--plan NAME] [--device ID,...] [--rounds N]
//
// Each token of a pass gets logits. The copy goes to memory of its own that was not written before, as results of the
// Python package are. Preparing makes the pass's plan and its programs anew, as another address of the logits would
// need, with compiled kernels. Plans are asked for by name, so nothing is compared meanwhile. Times are wall-clock
// times: the least of the rounds, which other processes disturb least.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/engines.h"
#include "engine/run/engine.h"
#include "engine/run/pass_plans.h"
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
  double pass_us = 0, copy_us = 0;
};

// Both times are of one pass: the engine's own time, and the copy behind it. Reading a value of the copy keeps the
// compiler from leaving it out.
Row time_passes(Engine& engine, int64_t tokens, int rounds) {
  const auto ids = bench::some_ids(engine.model().vocabulary(), tokens);
  std::vector<double> passes, copies;
  for (int round = 0; round <= rounds; ++round) {
    Sequence text = engine.cache().new_sequence();
    const Extension all{&text, ids, tokens, {}};
    const double begin = now_seconds();
    const Logits logits = engine.extend({&all, 1});
    const double middle = now_seconds();
    const std::vector<float> copy(logits.begin(), logits.end());
    const double end = now_seconds();
    if (copy.back() != logits[logits.size() - 1]) throw Error("the copy differs", "logits");
    if (round == 0) continue;  // the first pass prepares
    passes.push_back(1e6 * (middle - begin));
    copies.push_back(1e6 * (end - middle));
  }
  return {least(passes), least(copies)};
}

// The plan of passes of so many tokens, made and prepared anew. Kernels stay compiled.
double time_preparing(Engine& engine, int64_t tokens) {
  std::vector<double> plans;
  for (int round = 0; round < 9; ++round) {
    engine.machine().orchestrator().run([&] {
      engine.plans().release();
      engine.plans().rebuild();
      const double begin = now_seconds();
      engine.plans().prepare({tokens, tokens}, 0);
      plans.push_back(1e6 * (now_seconds() - begin));
    });
  }
  return least(plans);
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
  std::printf("| tokens | pass, us | copy of its logits, us | share of the pass | preparing its programs, us |\n");
  std::printf("| ---: | ---: | ---: | ---: | ---: |\n");
  for (const int64_t tokens : options.tokens) {
    const Row row = time_passes(*engine, tokens, options.rounds);
    std::printf("| %lld | %.0f | %.0f | %.1f %% | %.0f |\n", static_cast<long long>(tokens), row.pass_us, row.copy_us,
                100 * row.copy_us / row.pass_us, time_preparing(*engine, tokens));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("logits: what a copy of them costs");
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
