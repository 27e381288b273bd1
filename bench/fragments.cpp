// Question: what does a pass that is cut into fragments cost beyond a single plan, and how much of that is
// the decision?
//
// The bench cuts a model's usual pass at the ends of layers into chains of 2, 4, 8 ... fragments. Between two fragments
// a decision reads values that the former left in shared memory: the residual stream, as a router would read its
// scores. It then picks the next fragment from the prepared ones. Before anything is timed, the logits of every chain
// are compared with those of the whole plan. Then rounds of all chains alternate, and medians count.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/engines.h"
#include "engine/plan/prediction/statistics.h"
#include "engine/plan/schedule.h"
#include "engine/run/engine.h"
#include "engine/run/pass/chain.h"
#include "engine/run/pass/timeline.h"
#include "sync/error.h"

namespace {

using tandem::Chain;
using tandem::Engine;
using tandem::Plan;
namespace bench = tandem::bench;

constexpr int64_t kPast = 64;

struct Options : bench::EngineBenchOptions {
  std::string plan = "auto";
  std::string trace;
};

// The layer that an operator belongs to: 0 before the first layer, and `layers` after the last one.
int64_t layer_of(const std::string& name, int64_t layers, int64_t before) {
  if (!name.starts_with("blk.")) return before == 0 ? 0 : layers;
  return std::stoll(name.substr(4));
}

// Cuts the plan's operators, with their devices, into fragments of about equally many layers.
std::vector<Plan> cut(const Plan& whole, int64_t layers, int64_t fragments) {
  std::vector<std::vector<tandem::Placed>> parts(static_cast<size_t>(fragments));
  int64_t layer = 0;
  for (const tandem::Step& step : whole.steps) {
    for (const tandem::Operator& op : step.operators) {
      layer = std::max(layer, layer_of(op.name, layers, layer));
      const int64_t part = std::min(layer * fragments / layers, fragments - 1);
      parts[static_cast<size_t>(part)].push_back({step.device, op});
    }
  }
  std::vector<Plan> plans;
  for (auto& part : parts) plans.push_back(tandem::schedule(whole.name, whole.devices, std::move(part)));
  return plans;
}

// One chain of `fragments` fragments, and the times of its rounds.
struct Way {
  int64_t fragments;
  std::unique_ptr<Chain<int64_t>> chain;
  std::vector<double> seconds, deciding;  // seconds of a pass, and of its decisions
};

class FragmentBench {
 public:
  // Fills the context, prepares the chains, and verifies each of them: its logits must equal those of the whole plan.
  FragmentBench(Engine& engine, int64_t tokens) : tokens(tokens) {
    tandem::Sequence text = engine.cache().new_sequence();
    const auto ids = bench::some_ids(engine.model().config().vocabulary, kPast + tokens);
    extend(engine, text, std::span(ids).first(kPast));
    const auto last = std::span(ids).subspan(kPast);
    extend(engine, text, last);  // makes the plan, and fills its buffers with tokens and positions
    text.rewind(kPast);
    const Plan whole = engine.plans().planner().plan_for({tokens, 1}, kPast);
    plan = whole.name;
    for (const tandem::Operator& op : engine.plans().operators_for({tokens, 1})) {
      if (const auto* norm = std::get_if<tandem::RmsNorm>(&op.body); norm && !residual_) residual_ = norm->x;
    }
    for (int64_t fragments = 1; fragments <= engine.model().config().layers; fragments *= 2) {
      auto plans = std::make_shared<std::vector<Plan>>(cut(whole, engine.model().config().layers, fragments));
      ways_.push_back({fragments,
                       std::make_unique<Chain<int64_t>>(
                           engine.machine().executor(), [plans](int64_t i) { return (*plans)[static_cast<size_t>(i)]; },
                           static_cast<size_t>(fragments)),
                       {},
                       {}});
    }
    extend(engine, text, last);
    text.rewind(kPast);
    const tandem::Logits logits = extend(engine, text, last);
    const std::vector<float> expected(logits.begin(), logits.end());
    for (Way& way : ways_) {
      std::fill_n(const_cast<float*>(logits.data()), logits.size(), 0.0f);
      run(way);
      if (std::memcmp(expected.data(), logits.data(), expected.size() * sizeof(float)) != 0)
        throw tandem::Error("a chain gives other logits than the whole pass",
                            std::to_string(way.fragments) + " fragments");
    }
  }

  // Runs a chain. The decision reads values that the fragment has just written.
  tandem::ChainRun run(Way& way) const {
    const auto* hidden = residual_.as<const float>();
    return way.chain->run(0, [&](int64_t ended) -> std::optional<int64_t> {
      if (ended + 1 == way.fragments) return std::nullopt;
      const bool any = std::any_of(hidden, hidden + 64, [](float value) { return value != 0; });
      return any ? ended + 1 : 0;
    });
  }

  // Both times come from the same run: the whole pass, and the part of it that was spent on decisions.
  void measure(int rounds) {
    bench::take_turns(ways_.size(), rounds, [&](size_t i, bool counts) {
      Way& way = ways_[i];
      const tandem::ChainRun ran = run(way);
      if (!counts) return;
      way.seconds.push_back(ran.seconds);
      way.deciding.push_back(ran.deciding);
    });
  }
  // Records a run of the chain with the most fragments.
  void write_trace(Engine& engine, const std::string& path) {
    tandem::Timeline timeline;
    engine.machine().record(&timeline);
    run(ways_.back());
    engine.machine().record(nullptr);
    timeline.write_trace(path);
  }
  std::span<const Way> ways() const { return ways_; }
  const int64_t tokens;
  std::string plan;

 private:
  std::vector<Way> ways_;
  tandem::Operand residual_;
};

// Costs are per cut: what the pass takes longer than a single plan, divided by the number of cuts.
nlohmann::json report(const FragmentBench& fragments, bool prints) {
  nlohmann::json rows = nlohmann::json::array();
  const double whole = tandem::median(fragments.ways().front().seconds);
  for (const Way& way : fragments.ways()) {
    const double seconds = tandem::median(way.seconds);
    const auto cuts = static_cast<double>(std::max<int64_t>(way.fragments - 1, 1));
    const double beyond = (seconds - whole) / cuts * 1e6, deciding = tandem::median(way.deciding) / cuts * 1e6;
    rows.push_back({{"tokens", fragments.tokens},
                    {"plan", fragments.plan},
                    {"fragments", way.fragments},
                    {"clock", "measured"},
                    {"pass_ms", seconds * 1e3},
                    {"beyond_us", beyond},
                    {"deciding_us", deciding}});
    if (prints)
      std::printf("| %lld | %s | %lld | %.3f | %.1f | %.2f |\n", static_cast<long long>(fragments.tokens),
                  fragments.plan.c_str(), static_cast<long long>(way.fragments), seconds * 1e3, beyond, deciding);
  }
  return rows;
}

// One engine gives the plan of each length, and the bench cuts that plan. So all ways run the same operators on the
// same devices.
int run(const Options& options) {
  bench::require_model(options.model);
  const int64_t longest = std::ranges::max(options.lengths);
  tandem::EngineOptions engine_options;
  engine_options.model_path = options.model;
  engine_options.devices = options.devices;
  engine_options.plan = options.plan;
  engine_options.context = kPast + longest;
  engine_options.chunk = std::max(kPast, longest);  // a prompt is one pass
  const auto engine = Engine::open(engine_options);
  engine->machine().take_orchestrators_core();  // chains run on this thread
  if (!options.json) {
    std::printf("%s behind %lld tokens on %s; %d rounds, medians, all times measured (wall clock)\n\n",
                std::filesystem::path(options.model).filename().c_str(), static_cast<long long>(kPast),
                engine->machine().device_names().c_str(), options.rounds);
    std::printf(
        "| tokens | plan | fragments | pass, ms | beyond one plan, us a cut | of it deciding, us |\n"
        "| ---: | --- | ---: | ---: | ---: | ---: |\n");
  }
  nlohmann::json rows = nlohmann::json::array();
  for (const int64_t tokens : options.lengths) {
    FragmentBench fragments(*engine, tokens);
    fragments.measure(options.rounds);
    for (nlohmann::json& row : report(fragments, !options.json)) rows.push_back(std::move(row));
    if (!options.trace.empty() && tokens == options.lengths.back()) fragments.write_trace(*engine, options.trace);
  }
  if (options.json)
    std::printf("%s\n", nlohmann::json{{"schema", 1}, {"bench", "fragments"}, {"rows", rows}}.dump(1).c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("what a pass of several fragments, with a decision between two, costs beyond a single plan");
  Options options;
  options.lengths = {1, 64};
  options.rounds = 40;
  bench::add_flags(app, options);
  app.remove_option(app.get_option("--chunk"));  // a pass is not cut by tokens here
  app.add_option("--plan", options.plan, "as tandem's --plan")->capture_default_str();
  app.add_option("--trace", options.trace,
                 "write a pass of the last length in the most fragments to this file, for Perfetto");
  return bench::bench_main(app, argc, argv, [&] { return run(options); });
}
