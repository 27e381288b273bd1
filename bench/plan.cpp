// Question: do operators take as long on this machine's wall clock as the planner predicts?
//
// The bench takes prompts of some lengths, and single tokens. It compares the predicted seconds of a plan's operators
// with recorded passes of the same plan. Predictions are the planner's estimates, learnt from earlier passes
// (engine/run/choice/machine_rates.h, H8). The bar: a median error of 15 % over kinds, shapes and devices.
//
// With --soc FILE (`tandem calibrate`) it also compares that profile's model clock with the wall clock, for the same
// strategy on the same operators. The bar: 20 % of each pass. The plan `tensor` then never gives way to a faster plan,
// so that both clocks run the same strategy.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/engines.h"
#include "engine/measure/prediction_check.h"
#include "engine/plan/model_clock/modelled_pass.h"
#include "engine/plan/model_clock/soc_profile.h"
#include "engine/plan/prediction/predict.h"
#include "engine/plan/prediction/statistics.h"
#include "engine/run/choice/contention.h"
#include "engine/run/engine.h"
#include "engine/run/pass/timeline.h"
#include "sync/clock.h"

namespace {

namespace bench = tandem::bench;

using tandem::Batch;
using tandem::CheckedOperator;
using tandem::Engine;
using tandem::Timeline;

struct Options : bench::EngineBenchOptions {
  std::string plan = "tensor";
  std::string soc;
};

constexpr int64_t kDecodeContext = 64;

struct Test {
  std::string name;
  std::string plan;
  double predicted_seconds = 0, measured_seconds = 0;  // of one pass
  std::vector<CheckedOperator> rows;
  std::optional<double> modelled_seconds = {};  // of one pass
  double modelled_error() const { return *modelled_seconds / measured_seconds - 1; }
};

constexpr double kModelledBar = 0.2;

double modelled_seconds(const Engine& engine, int64_t position, int64_t tokens, const tandem::SocProfile& profile,
                        const std::string& strategy) {
  const auto operators = engine.plans().operators_for({tokens, 1});
  return tandem::modelled_pass(operators, tokens, profile, strategy, {tandem::SyncCost::fast, position}).run.seconds;
}

// Short passes are repeated for this long, so that other work of the machine disturbs only a few of them.
constexpr double kLeastSeconds = 0.25;

// Runs one pass behind the text many times, timed and recorded in turn, and compares it with the prediction.
Test check(Engine& engine, tandem::Sequence& text, std::string name, const std::vector<int32_t>& ids, int rounds) {
  const int64_t position = text.position();
  const Batch batch{static_cast<int64_t>(ids.size()), 1};
  extend(engine, text, ids);  // chooses the plan and compiles
  text.rewind(position);
  const tandem::Plan plan = engine.plans().planner().plan_for(batch, position);
  const tandem::Prediction prediction = tandem::predict(plan, engine.plans().planner().costs(position));
  std::vector<double> seconds;
  std::vector<Timeline> runs;
  double total = 0;
  while (std::ssize(seconds) <= rounds || total < kLeastSeconds) {
    const double start = tandem::now_seconds();
    extend(engine, text, ids);
    seconds.push_back(tandem::now_seconds() - start);
    total += seconds.back();
    text.rewind(position);
    engine.machine().record(&runs.emplace_back());
    extend(engine, text, ids);
    engine.machine().record(nullptr);
    text.rewind(position);
  }
  runs.erase(runs.begin());  // the first recording warmed up
  return {std::move(name), plan.name, prediction.seconds, tandem::median(std::move(seconds)),
          tandem::check_predictions(plan, prediction, runs)};
}

// Prompts begin at an empty text, and the single token stands behind kDecodeContext others. With a profile of this
// machine, the model clock's time is added to each.
std::vector<Test> check_all(const Options& options, Engine& engine) {
  const auto ids = bench::some_ids(engine.model().config().vocabulary, std::max(options.chunk, kDecodeContext + 1));
  const auto first = [&](int64_t count) { return std::vector<int32_t>(ids.begin(), ids.begin() + count); };
  std::optional<tandem::SocProfile> profile;
  if (!options.soc.empty()) profile = tandem::soc_profile(options.soc);
  std::vector<Test> tests;
  tandem::Sequence text = engine.cache().new_sequence();
  const auto add = [&](const std::string& name, int64_t tokens) {
    tests.push_back(check(engine, text, name, first(tokens), options.rounds));
    if (profile)
      tests.back().modelled_seconds = modelled_seconds(engine, text.position(), tokens, *profile, options.plan);
  };
  for (const int64_t length : options.lengths) {
    text.rewind(0);
    add("prompt of " + std::to_string(length), std::min(length, options.chunk));
  }
  text.rewind(0);
  extend(engine, text, first(kDecodeContext));
  add("single token", 1);
  return tests;
}

double median_of_all(const std::vector<Test>& tests) {
  std::vector<CheckedOperator> all;
  for (const Test& test : tests) all.insert(all.end(), test.rows.begin(), test.rows.end());
  return tandem::median_error(all);
}

// A table for each test with a line for each kind and shape of operator, then the median error over all.
void print(const std::vector<Test>& tests) {
  for (const Test& test : tests) {
    std::printf("%s, plan %s: the pass was predicted to take %.3f ms and took %.3f ms (%+.1f %%)\n\n",
                test.name.c_str(), test.plan.c_str(), test.predicted_seconds * 1e3, test.measured_seconds * 1e3,
                100 * (test.predicted_seconds / test.measured_seconds - 1));
    std::printf("| operator | shape | device | count | predicted us | measured us | error |\n");
    std::printf("| --- | --- | --- | ---: | ---: | ---: | ---: |\n");
    for (const CheckedOperator& row : test.rows) {
      std::printf("| %s | %s | %s | %lld | %.2f | %.2f | %+.1f %% |\n", row.kind.c_str(), row.shape.c_str(),
                  row.device.c_str(), static_cast<long long>(row.count), row.predicted_seconds * 1e6,
                  row.measured_seconds * 1e6, 100 * row.error());
    }
    std::printf("\nmedian error %.1f %%\n\n", 100 * tandem::median_error(test.rows));
  }
  std::printf("median error of all %.1f %% (the bar: 15 %%)\n", 100 * median_of_all(tests));
  for (const Test& test : tests) {
    if (!test.modelled_seconds) continue;
    std::printf("%s: the model clock says %.3f ms, the wall clock %.3f ms: %+.1f %% (the bar: %.0f %%)\n",
                test.name.c_str(), *test.modelled_seconds * 1e3, test.measured_seconds * 1e3,
                100 * test.modelled_error(), 100 * kModelledBar);
  }
}

// The same figures as the tables, with times in seconds for whole passes and in microseconds for operators.
nlohmann::json to_json(const std::vector<Test>& tests) {
  nlohmann::json list = nlohmann::json::array();
  for (const Test& test : tests) {
    nlohmann::json rows = nlohmann::json::array();
    for (const CheckedOperator& row : test.rows) {
      rows.push_back({{"op", row.kind},
                      {"shape", row.shape},
                      {"device", row.device},
                      {"count", row.count},
                      {"predicted_us", row.predicted_seconds * 1e6},
                      {"measured_us", row.measured_seconds * 1e6},
                      {"error", row.error()}});
    }
    list.push_back({{"test", test.name},
                    {"plan", test.plan},
                    {"predicted_seconds", test.predicted_seconds},
                    {"measured_seconds", test.measured_seconds},
                    {"median_error", tandem::median_error(test.rows)},
                    {"rows", std::move(rows)}});
    if (test.modelled_seconds)
      list.back()["model_clock"] = {{"seconds", *test.modelled_seconds}, {"error", test.modelled_error()}};
  }
  return {{"schema", 1}, {"bench", "plan"}, {"median_error", median_of_all(tests)}, {"tests", std::move(list)}};
}

// Other plans are tried as in a user's run, unless a profile is judged. If other programs had the cores meanwhile, a
// note says that nothing can be judged.
int run(const Options& options) {
  bench::require_model(options.model);
  tandem::EngineOptions engine_options;
  engine_options.model_path = options.model;
  engine_options.devices = options.devices;
  engine_options.plan = options.plan;
  engine_options.plan_hooks.tries_plans = options.soc.empty();
  engine_options.act = tandem::ActType::f16;
  engine_options.chunk = options.chunk;
  engine_options.context = options.chunk + kDecodeContext;
  const auto engine = Engine::open(engine_options);
  const tandem::ContentionWatch watch;
  const std::vector<Test> tests = check_all(options, *engine);
  if (watch.found())
    std::fprintf(stderr, "other programs had the cores while this was measured: nothing here can be judged\n");
  if (options.json) {
    std::printf("%s\n", to_json(tests).dump(1).c_str());
    return 0;
  }
  std::printf(
      "%s, act f16, %s; predicted: from estimates that passes have taught; measured: medians of %d "
      "recorded passes or more (wall clock)\n\n",
      std::filesystem::path(options.model).filename().c_str(), tandem::to_string(engine->machine().layout()).c_str(),
      options.rounds);
  print(tests);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  options.lengths = {32, 128, 256};
  options.chunk = 256;
  options.rounds = 7;
  CLI::App app("plan: predicted against measured time of each operator of a plan");
  bench::add_flags(app, options);
  app.get_option("--lengths")->description("tokens of the prompts, comma separated, at most --chunk");
  app.add_option("--plan", options.plan, "as tandem's --plan");
  app.add_option("--soc", options.soc, "profile of this machine (tandem calibrate), for the model clock");
  return bench::bench_main(app, argc, argv, [&] { return run(options); });
}
