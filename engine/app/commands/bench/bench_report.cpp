#include "engine/app/commands/bench/bench_report.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/app/commands/bench/bench_breakdown.h"
#include "engine/app/commands/bench/bench_roofline.h"
#include "engine/app/commands/open_engine.h"
#include "engine/app/report.h"
#include "sync/affinity.h"

namespace tandem::app {
namespace {

struct ModelFacts {
  std::string type;
  double size_bytes = 0, parameters = 0;
};

// The type is the one with most bytes in the file.
ModelFacts facts_of(const Engine& engine) {
  ModelFacts facts;
  std::map<std::string, double> bytes_of;
  for (const GgufTensor& tensor : engine.model().file().tensors()) {
    double values = 1;
    for (int64_t extent : tensor.shape) values *= static_cast<double>(extent);
    facts.parameters += values;
    facts.size_bytes += static_cast<double>(tensor.bytes);
    bytes_of[info(tensor.type).name] += static_cast<double>(tensor.bytes);
  }
  const auto most =
      std::max_element(bytes_of.begin(), bytes_of.end(), [](auto& a, auto& b) { return a.second < b.second; });
  char count[32];
  std::snprintf(count, sizeof(count), facts.parameters >= 1e9 ? "%.2fB" : "%.2fM",
                facts.parameters / (facts.parameters >= 1e9 ? 1e9 : 1e6));
  facts.type = engine.model().config().architecture + " " + count + " " + (most == bytes_of.end() ? "" : most->first);
  return facts;
}

// Number of cores that the engine may use. A flag above the number of usable cores has no further effect.
int threads(const CommonFlags& flags) {
  const int all = static_cast<int>(usable_cores().size());
  return flags.engine.threads > 0 ? std::min(flags.engine.threads, all) : all;
}

// Names are llama-bench's if it has the figure. The others are Tandem's own.
nlohmann::json to_json(const BenchRow& row, const ModelFacts& facts, const CommonFlags& flags, const Engine& engine) {
  std::vector<double> nanoseconds;
  for (double s : row.seconds) nanoseconds.push_back(s * 1e9);
  const auto ns = mean_and_spread(nanoseconds), ts = mean_and_spread(row.rates());
  return {{"schema", 1},
          {"model_filename", flags.model},
          {"model_type", facts.type},
          {"model_size", static_cast<uint64_t>(facts.size_bytes)},
          {"model_n_params", static_cast<uint64_t>(facts.parameters)},
          {"backends", engine.machine().device_names()},
          {"device", engine.machine().device_names()},
          {"plan", describe_plans(engine.options().plan, row.plans)},
          {"plan_asked", engine.options().plan},
          {"plan_ran", plans_json(row.plans)},
          {"act", to_string(*engine.options().act)},
          {"bits", bits_json(engine)},
          {"experts", experts_json(engine)},
          {"expert_store", expert_store_json(engine)},
          {"near_memory", near_memory_json(engine)},
          {"npu_memory", graph_loads_json(engine)},
          {"clock", "measured"},
          {"n_threads", threads(flags)},
          {"n_ctx", engine.sizes().context},
          {"cache_bytes", engine.cache().bytes()},
          {"type_k", flags.cache_type},
          {"type_v", flags.cache_type},
          {"n_prompt", row.n_prompt},
          {"n_gen", row.n_gen},
          {"n_depth", row.n_depth},
          {"avg_ns", ns.mean},
          {"stddev_ns", ns.deviation},
          {"avg_ts", ts.mean},
          {"stddev_ts", ts.deviation},
          {"samples_ns", nanoseconds},
          {"samples_ts", row.rates()},
          {"verified", row.verification.text()},
          {"verification", verification_json(row.verification)},
          {"verified_max_difference", row.verification.largest()}};
}

}  // namespace

// Figures of --roofline and --breakdown become members of their row's object. CSV has fixed columns and leaves
// them out.
nlohmann::json bench_json(const std::vector<BenchRow>& rows, const CommonFlags& flags, const Engine& engine) {
  const ModelFacts facts = facts_of(engine);
  nlohmann::json array = nlohmann::json::array();
  for (const BenchRow& row : rows) {
    array.push_back(to_json(row, facts, flags, engine));
    add_roofline(array.back(), row);
    add_breakdown(array.back(), row);
  }
  return array;
}

// Columns have llama-bench's names if it has the figure.
void print_bench_csv(const nlohmann::json& array) {
  constexpr const char* kColumns[] = {"model_filename", "model_type", "model_size", "model_n_params", "backends",
                                      "device",         "plan",       "act",        "clock",          "n_threads",
                                      "n_prompt",       "n_gen",      "n_depth",    "avg_ns",         "stddev_ns",
                                      "avg_ts",         "stddev_ts",  "verified"};
  print_csv(array, kColumns);
}

// The backend is the id of each device without its number. Every row names its clock and how it was verified, so a
// copied line still says what it shows.
void print_bench_table(const std::vector<BenchRow>& rows, const Engine& engine) {
  const ModelFacts facts = facts_of(engine);
  std::printf("| model | size | params | backend | device | plan | act | clock | verified | test | t/s |\n");
  std::printf("| --- | ---: | ---: | --- | --- | --- | --- | --- | --- | ---: | ---: |\n");
  std::string backend;
  for (const DeviceInfo* device : engine.machine().infos())
    backend += (backend.empty() ? "" : " + ") + device->id.substr(0, device->id.find(':'));
  for (const BenchRow& row : rows) {
    const auto ts = mean_and_spread(row.rates());
    std::printf("| %s | %.2f MiB | %.2f M | %s | %s | %s | %s | measured | %s | %s | %.2f ± %.2f |\n",
                facts.type.c_str(), facts.size_bytes / 1048576.0, facts.parameters / 1e6, backend.c_str(),
                engine.machine().device_names().c_str(), describe_plans(engine.options().plan, row.plans).c_str(),
                to_string(*engine.options().act), row.verification.text().c_str(), row.test().c_str(), ts.mean,
                ts.deviation);
  }
}

// This goes to standard error, because standard output has the table alone. Bits are promised or a tolerance is used;
// the reason for a tolerance stands beside it.
void print_verified(const std::vector<BenchRow>& rows, const Engine& engine) {
  for (const BenchRow& row : rows) {
    const Verification& v = row.verification;
    std::fprintf(stderr, "%s: ", row.test().c_str());
    if (engine.model().config().sees_all)
      std::fprintf(stderr, "the text's vector equals that of host-only: ");
    else
      std::fprintf(stderr, "logits of %lld tokens equal those of host-only and of the same in other pieces: ",
                   static_cast<long long>(v.tokens()));
    if (v.asks_for_bits())
      std::fprintf(stderr, "bit for bit\n");
    else
      std::fprintf(stderr, "within %.2g (largest difference %.2g), because %s\n", v.allowed(), v.largest(),
                   v.why_tolerance().c_str());
  }
  std::fprintf(stderr, "%s\n", to_string(engine.machine().layout()).c_str());
}

}  // namespace tandem::app
