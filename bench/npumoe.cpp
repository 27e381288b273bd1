// Question: what do NPUMoE's parts gain on this machine's wall clock, compared with its baselines (N9, N10)?
//
// The bench opens one engine for each plan on one mixture of experts, in one process, and uses the first tokens of a
// text. For every length all plans must first give the same bits. Plans that drop tokens are exempt and are judged by
// their perplexity. Then rounds of all plans alternate, and each round begins with another one. Rates are medians
// over rounds. One more pass gives an engine's counts and its NPU's busy time. Energy is modelled and has a table of
// its own.

#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/engines.h"
#include "engine/plan/prediction/statistics.h"
#include "engine/run/engine.h"
#include "engine/run/serve/perplexity.h"
#include "sync/error.h"

namespace {

using tandem::Engine;
using tandem::ExpertTotals;
using tandem::Overflow;
namespace bench = tandem::bench;

// One side of the comparison: a plan, and whether tokens beyond an expert's room are dropped. GPU and NPU have one core
// each here, so a CPU that stands for one processor beside them also has one.
struct Variant {
  std::string plan;
  Overflow overflow = Overflow::spill;
  int threads = 0;  // 0: all cores
  std::string name() const {
    return plan + (overflow == Overflow::drop ? " --overflow drop"
                   : threads > 0              ? " -t " + std::to_string(threads)
                                              : "");
  }
};

constexpr const char *kAll = "npumoe", *kNaive = "moe-naive", *kGpu = "gpu-only", *kCpu = "moe-cpu -t 1";
const std::vector<Variant> kVariants = {{"moe-cpu", Overflow::spill, 1},
                                        {"moe-cpu"},
                                        {"gpu-only"},
                                        {"moe-dense-only"},
                                        {kNaive},
                                        {"npumoe-base"},
                                        {"npumoe-t"},
                                        {"npumoe-tg"},
                                        {kAll},
                                        {"npumoe-tg", Overflow::drop},
                                        {"tensor"},
                                        {"auto"}};

struct Options : bench::EngineBenchOptions {
  std::string text, calibration;
};

// The processor time of all threads of the process, which shows what a plan costs the cores and not only the clock.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Measured {
  std::vector<double> seconds, cpu_seconds;  // per round
  ExpertTotals experts;                      // of one pass
  double npu_busy = 0;                       // share of that pass
  double modelled_joules = 0;                // of all devices, by their drivers' models
  double perplexity = 0;
  int64_t same_choices = 0;  // tokens whose most likely next token equals the first variant's
};

struct Test {
  int64_t tokens = 0;
  std::vector<Measured> of;  // per variant
};

// Totals only grow, so one pass is the difference of two readings.
ExpertTotals since(const ExpertTotals& now, const ExpertTotals& before) {
  return {now.graphs - before.graphs,  now.choices - before.choices,     now.slots - before.slots,
          now.valid - before.valid,    now.elsewhere - before.elsewhere, now.spilled - before.spilled,
          now.dropped - before.dropped};
}

// The drivers' models of energy say what each step takes. Nothing here is a measurement.
double modelled_joules(const Engine& engine, const tandem::Plan& plan) {
  double joules = 0;
  for (const tandem::Step& step : plan.steps) {
    const auto device = std::ranges::find(engine.machine().devices(), plan.devices[static_cast<size_t>(step.device)],
                                          [](const auto& each) { return each->info().id; });
    joules += (*device)->estimate(step.operators).joules;
  }
  return joules;
}

// Records one pass: what became of the experts' choices, and how long the NPU worked.
void look_at(Engine& engine, std::span<const int32_t> ids, Measured& measured) {
  const ExpertTotals before = engine.expert_use().totals();
  tandem::Timeline timeline;
  engine.machine().record(&timeline);
  const double seconds = bench::time_prompt(engine, ids);
  engine.machine().record(nullptr);
  measured.experts = since(engine.expert_use().totals(), before);
  measured.npu_busy = timeline.busy_seconds("npu:0") / seconds;
  tandem::Sequence text = engine.cache().new_sequence();
  size_t first = 0;
  for (const tandem::Batch& piece : engine.plans().chunks_of(0, std::ssize(ids))) {
    measured.modelled_joules += modelled_joules(engine, engine.plans().planner().plan_for(piece, text.position()));
    engine.extend(
        std::vector<tandem::Extension>{{&text, ids.subspan(first, static_cast<size_t>(piece.S)), piece.logit_rows}});
    first += static_cast<size_t>(piece.S);
  }
}

// Perplexity over the text, and the choice of every next token.
std::vector<int32_t> judge(Engine& engine, std::span<const int32_t> ids, Measured& measured) {
  tandem::Sequence text = engine.cache().new_sequence();
  tandem::LogLikelihood likelihood;
  std::vector<int32_t> choices;
  const auto V = static_cast<size_t>(engine.model().config().vocabulary);
  tandem::extend_all(engine, text, ids, [&](int64_t first, std::span<const float> logits) {
    for (size_t s = 0; s * V < logits.size(); ++s) {
      const auto row = logits.subspan(s * V, V);
      choices.push_back(static_cast<int32_t>(std::ranges::max_element(row) - row.begin()));
      const size_t next = static_cast<size_t>(first) + s + 1;
      if (next >= ids.size()) continue;
      likelihood.negative_log_sum += tandem::negative_log_likelihood(row, ids[next]);
      ++likelihood.tokens;
    }
  });
  measured.perplexity = likelihood.perplexity();
  return choices;
}

// Baselines of one processor get no other device, so that a plan cannot use one by accident.
std::unique_ptr<Engine> open(const Options& options, const Variant& variant, int64_t longest) {
  tandem::EngineOptions engine;
  engine.model_path = options.model;
  engine.devices = options.devices;
  if (variant.plan == "moe-cpu" || variant.plan == "gpu-only") engine.devices.clear();
  engine.plan = variant.plan;
  engine.threads = variant.threads;
  engine.act = tandem::ActType::f16;
  engine.experts.overflow = variant.overflow;
  engine.calibration = options.calibration;
  engine.context = longest + 64;
  engine.chunk = engine.logit_rows = std::min(options.chunk, engine.context);
  return Engine::open(engine);
}

std::vector<int32_t> tokens_of(const Engine& engine, const std::string& path, int64_t count) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw tandem::Error("cannot read the text", path, "Name one with --text");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<int32_t> ids = engine.model().tokenizer().encode(text, {});
  if (static_cast<int64_t>(ids.size()) < count)
    throw tandem::Error("the text is too short", path,
                        std::to_string(ids.size()) + " tokens, " + std::to_string(count) + " are needed");
  ids.resize(static_cast<size_t>(count));
  return ids;
}

// All plans are judged before any is timed. Plans that keep every token must have one perplexity, to the bit.
Test measure(std::vector<std::unique_ptr<Engine>>& engines, std::span<const int32_t> ids, int rounds) {
  Test test{static_cast<int64_t>(ids.size()), std::vector<Measured>(engines.size())};
  std::vector<int32_t> exact;
  for (size_t v = 0; v < engines.size(); ++v) {
    const std::vector<int32_t> choices = judge(*engines[v], ids, test.of[v]);
    if (v == 0) exact = choices;
    for (size_t i = 0; i < choices.size(); ++i) test.of[v].same_choices += choices[i] == exact[i];
    if (kVariants[v].overflow == Overflow::spill && test.of[v].perplexity != test.of[0].perplexity)
      throw tandem::Error("plans disagree, so there is nothing to time", kVariants[v].name());
  }
  // The plans take turns within a round, so a slow minute of the machine affects all of them.
  bench::take_turns(engines.size(), rounds, [&](size_t v, bool counts) {
    const double cpu = cpu_seconds(), seconds = bench::time_prompt(*engines[v], ids);
    if (!counts) return;
    test.of[v].seconds.push_back(seconds);
    test.of[v].cpu_seconds.push_back(cpu_seconds() - cpu);
  });
  for (size_t v = 0; v < engines.size(); ++v) look_at(*engines[v], ids, test.of[v]);
  std::fprintf(stderr, "%lld tokens measured\n", static_cast<long long>(test.tokens));
  return test;
}

size_t index_of(const std::string& plan) {
  return static_cast<size_t>(std::ranges::find(kVariants, plan, &Variant::name) - kVariants.begin());
}

// How many times as long `a` takes as `b`: the median of the ratios within a round.
double ratio(const Measured& a, const Measured& b) {
  std::vector<double> ratios;
  for (size_t r = 0; r < a.seconds.size(); ++r) ratios.push_back(a.seconds[r] / b.seconds[r]);
  return tandem::median(ratios);
}

// A row for each plan. The gains below the table are medians of ratios within rounds, which a drifting
// clock disturbs least.
void print_table(const Test& test) {
  std::printf("\n%lld tokens, measured\n\n", static_cast<long long>(test.tokens));
  std::printf(
      "| plan | first token, ms | tokens/s | processor time, ms | graphs | rows empty | on the NPU | spilled | "
      "dropped | NPU at work | perplexity | same choices |\n");
  std::printf("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  for (size_t v = 0; v < test.of.size(); ++v) {
    const Measured& m = test.of[v];
    const double seconds = tandem::median(m.seconds);
    const auto percent = [&](int64_t of) { return 100 * m.experts.share_of_choices(of); };
    std::printf(
        "| `%s` | %.1f | %.0f | %.1f | %lld | %.1f %% | %.1f %% | %.1f %% | %.1f %% | %.0f %% | %.4f | %.1f %% |\n",
        kVariants[v].name().c_str(), seconds * 1e3, static_cast<double>(test.tokens) / seconds,
        tandem::median(m.cpu_seconds) * 1e3, static_cast<long long>(m.experts.graphs), 100 * m.experts.padded_share(),
        percent(m.experts.valid), percent(m.experts.spilled), percent(m.experts.dropped), 100 * m.npu_busy,
        m.perplexity, 100 * static_cast<double>(m.same_choices) / static_cast<double>(test.tokens));
  }
  const Measured &all = test.of[index_of(kAll)], &cpu = test.of[index_of(kCpu)], &gpu = test.of[index_of(kGpu)];
  const bool gpu_is_better = tandem::median(gpu.seconds) < tandem::median(cpu.seconds);
  std::printf(
      "\n`%s` beside the best single processor (`%s`): %.2f x; beside `moe-cpu` on all cores: %.2f x; beside `%s`: "
      "%.2f x\n",
      kAll, gpu_is_better ? kGpu : kCpu, ratio(gpu_is_better ? gpu : cpu, all),
      ratio(test.of[index_of("moe-cpu")], all), kNaive, ratio(test.of[index_of(kNaive)], all));
}

// Energy has a table of its own, since it is modelled and the rest is measured.
void print_energy(const std::vector<Test>& tests) {
  std::printf(
      "\nmillijoules a token, modelled (the emulated NPU's energy model, round figures of the others)\n\n| plan |");
  for (const Test& test : tests) std::printf(" %lld tokens |", static_cast<long long>(test.tokens));
  std::printf("\n| --- |");
  for (size_t i = 0; i < tests.size(); ++i) std::printf(" ---: |");
  for (size_t v = 0; v < kVariants.size(); ++v) {
    std::printf("\n| `%s` |", kVariants[v].name().c_str());
    for (const Test& test : tests)
      std::printf(" %.2f |", 1e3 * test.of[v].modelled_joules / static_cast<double>(test.tokens));
  }
  std::printf("\n");
}

// The document keeps measured and modelled values in separate objects, and every single time.
nlohmann::json to_json(const Options& options, const std::vector<Test>& tests) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Test& test : tests) {
    for (size_t v = 0; v < test.of.size(); ++v) {
      const Measured& m = test.of[v];
      rows.push_back({{"tokens", test.tokens},
                      {"plan", kVariants[v].name()},
                      {"measured",
                       {{"seconds", m.seconds},
                        {"cpu_seconds", m.cpu_seconds},
                        {"graphs", m.experts.graphs},
                        {"padded_share", m.experts.padded_share()},
                        {"npu_share", m.experts.share_of_choices(m.experts.valid)},
                        {"spilled_share", m.experts.share_of_choices(m.experts.spilled)},
                        {"dropped_share", m.experts.share_of_choices(m.experts.dropped)},
                        {"npu_busy", m.npu_busy},
                        {"perplexity", m.perplexity},
                        {"same_choices", m.same_choices}}},
                      {"modelled", {{"joules", m.modelled_joules}}}});
    }
  }
  return {{"schema", 1}, {"bench", "npumoe"}, {"chunk", options.chunk}, {"rows", rows}};
}

// One engine for each plan stays open, so weights are loaded once and plans stay prepared.
int run(const Options& options) {
  bench::require_model(options.model);
  const int64_t longest = std::ranges::max(options.lengths);
  std::vector<std::unique_ptr<Engine>> engines;
  for (const Variant& variant : kVariants) engines.push_back(open(options, variant, longest));
  if (!engines.front()->model().config().experts)
    throw tandem::Error("the model has no experts", options.model,
                        "`tandem make-moe` makes a mixture of a dense model");
  const auto ids = tokens_of(*engines.front(), options.text, longest);
  std::vector<Test> tests;
  for (const int64_t tokens : options.lengths)
    tests.push_back(measure(engines, std::span(ids).first(static_cast<size_t>(tokens)), options.rounds));
  if (options.json) {
    std::printf("%s\n", to_json(options, tests).dump(1).c_str());
    return 0;
  }
  std::printf("%s, act f16, pieces of %lld tokens, %s; %d rounds, medians\n",
              std::filesystem::path(options.model).filename().c_str(),
              static_cast<long long>(engines.front()->sizes().tokens),
              tandem::to_string(engines.front()->machine().layout()).c_str(), options.rounds);
  for (const Test& test : tests) print_table(test);
  print_energy(tests);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  options.lengths = {256, 512, 1024};
  options.chunk = 512;
  options.rounds = 5;
  CLI::App app("npumoe: NPUMoE and its baselines on a mixture of experts, measured");
  bench::add_flags(app, options);
  app.add_option("--text", options.text, "a text of as many tokens as the longest prompt")->required();
  app.add_option("--calibration", options.calibration, "a file of calibrate-moe; default: counted while plans run");
  return bench::bench_main(app, argc, argv, [&] { return run(options); });
}
