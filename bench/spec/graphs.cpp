// Question: how much time does the loading of NPU graphs cost beside passes, by the way of switching?
#include "bench/spec/graphs.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "bench/engines.h"
#include "engine/device/gpu/kept_file.h"
#include "engine/plan/prediction/statistics.h"
#include "engine/run/graph_passes.h"
#include "engine/run/serve/extend.h"
#include "sync/clock.h"
#include "sync/error.h"

namespace tandem::bench {
namespace {

// A way to load graphs, and its times.
struct Way {
  const char* name;
  std::optional<SwitchWay> way{};
  bool loads = true;                               // false: an engine without --npu-memory
  std::vector<double> prompt{}, both{}, waited{};  // seconds, of each round
};

// The engine's own way, the three of the paper, and none.
std::vector<Way> all_ways() {
  return {{"ours: the best by measured times"},
          {"synchronous", SwitchWay::synchronous},
          {"asynchronous", SwitchWay::asynchronous},
          {"progressive", SwitchWay::progressive},
          {"none, and one graph of each block", std::nullopt, false}};
}

// Seconds of a prompt, and of the prompt with the first written token behind it. That token needs all decode graphs.
struct Took {
  double prompt = 0, both = 0;
  std::vector<float> logits;  // of both
};

// Writes a prompt and one token behind it, and keeps the logits of both for the comparison.
Took write(Engine& engine, std::span<const int32_t> ids) {
  Took took;
  Sequence text = engine.cache().new_sequence();
  const auto keep = [&](std::span<const float> logits) {
    took.logits.insert(took.logits.end(), logits.begin(), logits.end());
  };
  const double start = now_seconds();
  {
    const Logits logits = extend(engine, text, ids);
    took.prompt = now_seconds() - start;
    keep(logits);
  }
  const double between = now_seconds();
  const Logits logits = extend(engine, text, ids.first(1));
  took.both = took.prompt + now_seconds() - between;
  keep(logits);
  return took;
}

// Plans do not learn here, so that all ways run the same plan.
EngineOptions engine_options(const GraphBenchOptions& options) {
  EngineOptions engine;
  engine.model_path = options.model;
  engine.devices = options.devices;
  if (engine.devices.empty()) engine.devices = {"npu:0", "host"};
  engine.plan = options.plan;
  engine.chunk = options.chunk;
  engine.context = std::ranges::max(options.lengths) + 8;
  engine.plan_hooks.tries_plans = engine.plan_hooks.learns = false;
  engine.program_folder = gpu::default_cache_folder();
  engine.pack_cache_folder = engine.program_folder + "/packed";
  return engine;
}

// An engine with so much memory for graphs. The error for too little says how much suffices.
std::unique_ptr<Engine> with_graphs(EngineOptions options, int64_t mebibytes) {
  options.npu_memory_bytes = static_cast<uint64_t>(mebibytes) << 20;
  return Engine::open(options);
}

// The least memory is found by asking for too little.
int64_t least_mebibytes(const EngineOptions& options) {
  try {
    with_graphs(options, 1);
  } catch (const Error& error) {
    const std::string text = error.what(), flag = "at least --npu-memory ";
    if (const size_t at = text.find(flag); at != std::string::npos) return std::stoll(text.substr(at + flag.size()));
    throw;
  }
  return 1;
}

// The median of the ratios within rounds: neighbours in time suffer alike from other programs.
double ratio_of(const std::vector<double>& ours, const std::vector<double>& other) {
  std::vector<double> ratios;
  for (size_t round = 0; round < ours.size(); ++round) ratios.push_back(ours[round] / other[round]);
  return median(ratios);
}

// All ways of loading write the same prompt in turn, and one engine without loads does so too. Logits of other bits are
// an error, so a time never stands beside a wrong result.
void measure_length(Engine& plain, Engine& engine, std::span<const int32_t> ids, int rounds) {
  GraphPasses& graphs = *engine.plans().graphs();
  const std::vector<float> expected = write(plain, ids).logits;
  std::vector<Way> ways = all_ways();
  take_turns(ways.size(), rounds, [&](size_t i, bool counts) {
    Way& way = ways[i];
    graphs.use_way(way.way);
    const double waited = graphs.memory().totals().waited_seconds;
    const Took took = write(way.loads ? engine : plain, ids);
    if (took.logits.size() != expected.size() ||
        std::memcmp(took.logits.data(), expected.data(), std::span(expected).size_bytes()) != 0)
      throw Error("logits differ from those without loads", way.name);
    if (!counts) return;
    way.prompt.push_back(took.prompt);
    way.both.push_back(took.both);
    way.waited.push_back(graphs.memory().totals().waited_seconds - waited);
  });
  for (const Way& way : ways)
    std::printf("| %zu | %s | %.1f | %.1f | %.1f | %.3f |\n", ids.size(), way.name, median(way.prompt) * 1e3,
                median(way.both) * 1e3, median(way.waited) * 1e3, ratio_of(ways.front().both, way.both));
}

}  // namespace

// Two engines of one model: one whose graphs are all in memory, and one with room for few of them.
int measure_graphs(const GraphBenchOptions& options) {
  const EngineOptions plain_options = engine_options(options);
  const auto plain = Engine::open(plain_options);
  const int64_t mebibytes = options.npu_mebibytes > 0 ? options.npu_mebibytes : least_mebibytes(plain_options);
  const auto engine = with_graphs(plain_options, mebibytes);
  GraphMemory& memory = engine->plans().graphs()->memory();
  memory.read_storage(options.cold);
  memory.limit_rate(static_cast<double>(options.load_mebibytes) * (1 << 20));
  std::printf(
      "Measured: %s on %s, plan %s, --npu-memory %lld, passes of at most %lld tokens, loads from %s; medians\n\n",
      options.model.c_str(), engine->machine().device_names().c_str(), options.plan.c_str(),
      static_cast<long long>(mebibytes), static_cast<long long>(engine->sizes().tokens),
      options.cold ? "storage" : "the system's copy of the file");
  std::printf(
      "| tokens | loads | prompt, ms | prompt and one token, ms | waited for graphs, ms | ours / this, within rounds "
      "|\n");
  std::printf("| ---: | --- | ---: | ---: | ---: | ---: |\n");
  for (const int64_t length : options.lengths)
    measure_length(*plain, *engine, some_ids(plain->model().vocabulary(), length), options.rounds);
  const GraphMemory::Totals& totals = memory.totals();
  std::printf("\nAt most %.1f of %.1f MiB; %lld loads at %.2f GB/s\n",
              static_cast<double>(totals.peak_bytes) / (1 << 20), static_cast<double>(totals.budget_bytes) / (1 << 20),
              static_cast<long long>(totals.loads),
              static_cast<double>(totals.loaded_bytes) / totals.load_seconds / 1e9);
  return 0;
}

}  // namespace tandem::bench
