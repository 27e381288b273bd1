#include "engine/app/commands/bench.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/app/command.h"
#include "engine/app/commands/open_engine.h"
#include "engine/app/interrupt.h"
#include "engine/app/report.h"
#include "sync/error.h"

namespace tandem::app {
namespace {

struct Row {
  int64_t n_prompt = 0, n_gen = 0;
  std::vector<double> seconds;
  double tokens() const { return static_cast<double>(n_prompt + n_gen); }
  std::string test() const { return n_gen == 0 ? "pp" + std::to_string(n_prompt) : "tg" + std::to_string(n_gen); }
};

struct MeanAndSpread {
  double mean = 0, deviation = 0;
};

MeanAndSpread mean_and_spread(const std::vector<double>& values) {
  MeanAndSpread result;
  for (double v : values) result.mean += v / static_cast<double>(values.size());
  if (values.size() < 2) return result;
  for (double v : values)
    result.deviation += (v - result.mean) * (v - result.mean) / static_cast<double>(values.size() - 1);
  result.deviation = std::sqrt(result.deviation);
  return result;
}

std::vector<double> rates(const Row& row) {
  std::vector<double> out;
  for (double s : row.seconds) out.push_back(row.tokens() / s);
  return out;
}

std::vector<int32_t> some_tokens(int64_t vocabulary, int64_t count) {
  std::vector<int32_t> ids;
  uint64_t state = 1;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    ids.push_back(static_cast<int32_t>((state >> 33) % static_cast<uint64_t>(vocabulary)));
  }
  return ids;
}

// Before anything is timed: logits of a short prompt must be those of the host's plain loops. Returns the largest
// difference.
double verify(const CommonFlags& flags, Engine& engine) {
  constexpr int64_t kTokens = 6;
  const auto ids = some_tokens(engine.config().vocabulary, kTokens);
  CommonFlags plain = flags;
  plain.plan = "host-only";
  plain.devices = {"host"};
  plain.split.clear();
  plain.act = engine.act();
  plain.trace.clear();
  plain.verbosity = -1;
  const auto host = open_engine(plain, {64, 0, 1});
  const std::span<const float> expected = host->extend(ids);
  engine.rewind(0);
  const std::span<const float> got = engine.extend(ids);
  double largest = 0, magnitude = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double difference = std::abs(static_cast<double>(got[i]) - expected[i]);
    if (!(difference <= largest)) largest = difference;
    magnitude = std::max(magnitude, std::abs(static_cast<double>(expected[i])));
  }
  // Norms and softmax may round differently on each device; f16 activations then move whole f16 steps (2^-11), which
  // add up over layers.
  const double allowed = 0.02 * std::max(1.0, magnitude);
  if (!(largest <= allowed)) {
    std::ostringstream text;
    text << "largest difference of a logit " << largest << ", allowed " << allowed;
    throw Error("the result is wrong, so there is nothing to time",
                engine.device_names() + ", plan " + engine.plan_name() + ": " + text.str(),
                "Please report this with the output of `tandem devices --json`");
  }
  engine.rewind(0);
  return largest;
}

double time_prompt(Engine& engine, int64_t n) {
  const auto ids = some_tokens(engine.config().vocabulary, n);
  engine.rewind(0);
  const double start = now_seconds();
  engine.extend(ids);
  return now_seconds() - start;
}

double time_generation(Engine& engine, int64_t n) {
  const auto ids = some_tokens(engine.config().vocabulary, n);
  engine.rewind(0);
  const double start = now_seconds();
  for (const int32_t& id : ids) engine.extend(std::span(&id, 1));
  return now_seconds() - start;
}

struct ModelFacts {
  std::string type;
  double size_bytes = 0, parameters = 0;
};

ModelFacts facts_of(const Engine& engine) {
  ModelFacts facts;
  std::map<std::string, double> bytes_of;
  for (const GgufTensor& tensor : engine.file().tensors()) {
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
  facts.type = engine.config().architecture + " " + count + " " + (most == bytes_of.end() ? "" : most->first);
  return facts;
}

nlohmann::json to_json(const Row& row, const ModelFacts& facts, const CommonFlags& flags, const Engine& engine,
                       double difference) {
  std::vector<double> nanoseconds;
  for (double s : row.seconds) nanoseconds.push_back(s * 1e9);
  const auto ns = mean_and_spread(nanoseconds), ts = mean_and_spread(rates(row));
  return {{"schema", 1},
          {"model_filename", flags.model},
          {"model_type", facts.type},
          {"model_size", static_cast<uint64_t>(facts.size_bytes)},
          {"model_n_params", static_cast<uint64_t>(facts.parameters)},
          {"backends", engine.device_names()},
          {"device", engine.device_names()},
          {"plan", engine.plan_name()},
          {"act", engine.act()},
          {"clock", "measured"},
          {"n_threads", static_cast<int>(usable_cores().size())},
          {"type_k", flags.cache_type},
          {"type_v", flags.cache_type},
          {"n_prompt", row.n_prompt},
          {"n_gen", row.n_gen},
          {"avg_ns", ns.mean},
          {"stddev_ns", ns.deviation},
          {"avg_ts", ts.mean},
          {"stddev_ts", ts.deviation},
          {"samples_ns", nanoseconds},
          {"samples_ts", rates(row)},
          {"verified_max_difference", difference}};
}

void print_markdown(const std::vector<Row>& rows, const ModelFacts& facts, const Engine& engine) {
  std::printf("| model | size | params | backend | device | plan | clock | test | t/s |\n");
  std::printf("| --- | ---: | ---: | --- | --- | --- | --- | ---: | ---: |\n");
  std::string backend;
  for (const DeviceInfo* device : engine.devices())
    backend += (backend.empty() ? "" : " + ") + device->id.substr(0, device->id.find(':'));
  for (const Row& row : rows) {
    const auto ts = mean_and_spread(rates(row));
    std::printf("| %s | %.2f MiB | %.2f M | %s | %s | %s | measured | %s | %.2f ± %.2f |\n", facts.type.c_str(),
                facts.size_bytes / 1048576.0, facts.parameters / 1e6, backend.c_str(), engine.device_names().c_str(),
                engine.plan_name().c_str(), row.test().c_str(), ts.mean, ts.deviation);
  }
}

void print_csv(const nlohmann::json& array) {
  constexpr const char* kColumns[] = {
      "model_filename", "model_type", "model_size", "model_n_params", "backends", "device",    "plan",   "act",
      "clock",          "n_threads",  "n_prompt",   "n_gen",          "avg_ns",   "stddev_ns", "avg_ts", "stddev_ts"};
  const char* comma = "";
  for (const char* column : kColumns) {
    std::cout << comma << column;
    comma = ",";
  }
  std::cout << '\n';
  for (const auto& object : array) {
    comma = "";
    for (const char* column : kColumns) {
      std::cout << comma << object.at(column).dump();
      comma = ",";
    }
    std::cout << '\n';
  }
}

}  // namespace

int bench_command(const CommonFlags& flags, const BenchFlags& bench) {
  std::vector<Row> rows;
  int64_t longest = 64;
  for (int64_t n : bench.n_prompt) {
    if (n > 0) rows.push_back({n, 0, {}});
  }
  for (int64_t n : bench.n_gen) {
    if (n > 0) rows.push_back({0, n, {}});
  }
  for (const Row& row : rows) longest = std::max(longest, row.n_prompt + row.n_gen);
  if (rows.empty()) throw Error("there is nothing to measure", "bench", "Give -p or -n a number above 0");

  const auto engine = open_engine(flags, {std::max(longest, flags.ctx_size), 0, 1});
  print_notes(flags, *engine);
  const double difference = verify(flags, *engine);
  TraceFile trace(flags, *engine);
  for (Row& row : rows) {
    const auto measure = [&] {
      return row.n_gen == 0 ? time_prompt(*engine, row.n_prompt) : time_generation(*engine, row.n_gen);
    };
    measure();  // compiles, fills caches
    for (int i = 0; i < bench.repetitions; ++i) {
      if (interrupted()) throw Engine::Interrupted();
      row.seconds.push_back(measure());
    }
  }
  trace.finish();

  const ModelFacts facts = facts_of(*engine);
  nlohmann::json array = nlohmann::json::array();
  for (const Row& row : rows) array.push_back(to_json(row, facts, flags, *engine, difference));
  if (flags.json || bench.output == "json") {
    print_json(array);
  } else if (bench.output == "csv") {
    print_csv(array);
  } else {
    print_markdown(rows, facts, *engine);
    if (!flags.quiet()) {
      std::fprintf(stderr, "verified against host-only before timing: largest difference of a logit %.2g; %s\n",
                   difference, to_string(engine->layout()).c_str());
    }
  }
  return kDone;
}

}  // namespace tandem::app
