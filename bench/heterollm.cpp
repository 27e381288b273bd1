// Question: which plan is the fastest for which prompt on this machine's wall clock, and does `tensor` always find it?
//
// The bench opens one engine for each plan on one model, in one process. For every length all of them must first give
// the same bits. Then rounds of all plans alternate, and each round begins with another one. A plan's rate is the
// median over rounds. The loss of `tensor` against the best other plan is the median of the ratios within a round.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/engines.h"
#include "engine/plan/prediction/statistics.h"
#include "engine/plan/strategy.h"
#include "engine/run/engine.h"
#include "sync/error.h"

namespace {

using tandem::Engine;
namespace bench = tandem::bench;

constexpr const char* kTensor = "tensor";
constexpr int64_t kDecodeContext = 64, kDecodeTokens = 32;

// All plans that run on a GPU and an NPU. `tensor`, which is compared with each of the others, comes last.
std::vector<std::string> all_plans() {
  std::vector<std::string> plans;
  for (const tandem::Strategy& strategy : tandem::strategies_for_any_model()) {
    if (strategy.only != tandem::DeviceRole::helper && strategy.name != std::string(kTensor))
      plans.emplace_back(strategy.name);
  }
  plans.emplace_back(kTensor);
  return plans;
}

struct Options : bench::EngineBenchOptions {
  std::vector<std::string> plans = all_plans();
};

// One column of the table: a prompt of `tokens`, or single tokens (0).
struct Test {
  int64_t tokens = 0;
  std::vector<std::vector<double>> seconds;  // per plan, per round

  std::string name() const { return tokens > 0 ? "pp" + std::to_string(tokens) : "decode"; }
  double rate(size_t plan) const {
    return static_cast<double>(std::max<int64_t>(tokens, 1)) / tandem::median(seconds[plan]);
  }
};

double time_once(Engine& engine, const Test& test, const std::vector<int32_t>& ids) {
  if (test.tokens == 0)
    return bench::time_decode(engine, std::span(ids).first(kDecodeContext + kDecodeTokens), kDecodeContext);
  return bench::time_prompt(engine, std::span(ids).first(static_cast<size_t>(test.tokens)));
}

struct Verdict {
  size_t best = 0;   // the fastest of the other plans
  double ratio = 0;  // tensor's seconds / the best other plan's, median over the rounds
};

// Compares `tensor` with the best of the other plans, round by round, since both were slow or fast together. The median
// of the ratios counts.
Verdict judge(const Test& test, const std::vector<std::string>& plans) {
  const auto tensor = static_cast<size_t>(std::ranges::find(plans, kTensor) - plans.begin());
  Verdict verdict;
  double best = 0;
  for (size_t p = 0; p < plans.size(); ++p) {
    if (p != tensor && test.rate(p) > best) best = test.rate(p), verdict.best = p;
  }
  std::vector<double> ratios;
  for (size_t r = 0; r < test.seconds[tensor].size(); ++r)
    ratios.push_back(test.seconds[tensor][r] / test.seconds[verdict.best][r]);
  verdict.ratio = tandem::median(ratios);
  return verdict;
}

// Prompts of each length and single tokens at last. All engines must agree in bits before each test.
std::vector<Test> measure(const Options& options, std::vector<std::unique_ptr<Engine>>& engines,
                          const std::vector<int32_t>& ids) {
  std::vector<Test> tests;
  for (const int64_t tokens : options.lengths) tests.push_back({tokens, {}});
  tests.push_back({0, {}});
  for (Test& test : tests) {
    test.seconds.resize(engines.size());
    bench::verify_equal(engines, std::span(ids).first(static_cast<size_t>(std::max<int64_t>(test.tokens, 1))));
    bench::take_turns(engines.size(), options.rounds, [&](size_t p, bool counts) {
      const double seconds = time_once(*engines[p], test, ids);
      if (counts) test.seconds[p].push_back(seconds);
    });
    std::fprintf(stderr, "%s measured\n", test.name().c_str());
  }
  return tests;
}

void print_table(const Options& options, const std::vector<Test>& tests) {
  std::printf("| plan |");
  for (const Test& test : tests) std::printf(" %s |", test.name().c_str());
  std::printf("\n| --- |");
  for (size_t i = 0; i < tests.size(); ++i) std::printf(" ---: |");
  for (size_t p = 0; p < options.plans.size(); ++p) {
    std::printf("\n| `%s` |", options.plans[p].c_str());
    for (const Test& test : tests) std::printf(" %.0f |", test.rate(p));
  }
  std::printf("\n");
  if (!std::ranges::count(options.plans, kTensor) || options.plans.size() < 2) return;
  std::printf("| best of the others |");
  for (const Test& test : tests) std::printf(" `%s` |", options.plans[judge(test, options.plans).best].c_str());
  std::printf("\n| `tensor`'s time / its time |");
  for (const Test& test : tests) std::printf(" %.3f |", judge(test, options.plans).ratio);
  std::printf("\n");
}

nlohmann::json to_json(const Options& options, const std::vector<Test>& tests) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Test& test : tests) {
    for (size_t p = 0; p < options.plans.size(); ++p) {
      rows.push_back({{"test", test.name()},
                      {"plan", options.plans[p]},
                      {"clock", "measured"},
                      {"avg_ts", test.rate(p)},
                      {"seconds", test.seconds[p]}});
    }
  }
  return {{"schema", 1}, {"bench", "heterollm"}, {"chunk", options.chunk}, {"rows", rows}};
}

// All engines are open at once and share the cores, and only one of them runs at a time.
int run(const Options& options) {
  bench::require_model(options.model);
  const int64_t longest = std::max(std::ranges::max(options.lengths), kDecodeContext + kDecodeTokens);
  std::vector<std::unique_ptr<Engine>> engines;
  for (const std::string& plan : options.plans) {
    tandem::EngineOptions engine;
    engine.model_path = options.model;
    engine.devices = options.devices;
    engine.plan = plan;
    engine.act = tandem::ActType::f16;
    engine.context = longest + 64;
    engine.chunk = std::min(options.chunk, engine.context);
    engines.push_back(Engine::open(engine));
  }
  const auto ids = bench::some_ids(engines.front()->model().config().vocabulary, longest);
  const std::vector<Test> tests = measure(options, engines, ids);
  if (options.json) {
    std::printf("%s\n", to_json(options, tests).dump(1).c_str());
    return 0;
  }
  std::printf("%s, act f16, pieces of %lld tokens, %s; %d rounds, medians of tokens/s, all measured (wall clock)\n\n",
              std::filesystem::path(options.model).filename().c_str(),
              static_cast<long long>(engines.front()->sizes().tokens),
              tandem::to_string(engines.front()->machine().layout()).c_str(), options.rounds);
  print_table(options, tests);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  options.lengths = {32, 64, 135, 256, 300, 525, 600, 1000};
  options.chunk = 1024;
  options.rounds = 5;
  CLI::App app("heterollm: every plan on prompts of several lengths and on single tokens, measured");
  bench::add_flags(app, options);
  app.add_option("--plans", options.plans, "names, comma separated")->delimiter(',');
  return bench::bench_main(app, argc, argv, [&] { return run(options); });
}
