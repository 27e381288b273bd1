// Question: on this machine's wall clock, is cutting every matmul between GPU and NPU faster than either of them alone?
//
// The bench runs three engines on one model in one process: gpu-only (its cores alone), npu-only (matmuls on the NPU),
// tensor (H2/H6). First their logits must be equal bit for bit. Then rounds of all three alternate. The median of the
// ratios within a round counts, because absolute times of a shared machine vary by a factor of two.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/engines.h"
#include "engine/plan/prediction/statistics.h"
#include "engine/run/engine.h"
#include "engine/run/pass/timeline.h"
#include "sync/error.h"

namespace {

using tandem::Engine;
namespace bench = tandem::bench;

constexpr const char* kPlans[] = {"gpu-only", "npu-only", "tensor"};
constexpr int64_t kPromptTokens = 256, kDecodeTokens = 48, kDecodeContext = 64;

struct Options {
  std::string model;
  int rounds = 9;
  bool json = false;
};

std::unique_ptr<Engine> open(const std::string& model, const char* plan) {
  tandem::EngineOptions options;
  options.model_path = model;
  options.plan = plan;
  options.act = tandem::ActType::f16;
  options.context = 512;
  return Engine::open(options);
}

double time_decode(Engine& engine, const std::vector<int32_t>& ids) {
  return bench::time_decode(engine, std::span(ids).first(kDecodeContext + kDecodeTokens), kDecodeContext);
}
double time_prompt(Engine& engine, const std::vector<int32_t>& ids) { return bench::time_prompt(engine, ids); }

struct Phase {
  const char* name;
  double tokens;
  double (*time)(Engine&, const std::vector<int32_t>&);
  std::vector<double> seconds[3];  // per plan, per round
  std::vector<double> ratios;      // per round: the better of the first two / tensor
};

// Three engines in one process, which take turns. The bits of all three are compared first. Ratios are taken within
// each round, since absolute speed on a shared machine moves by a factor of two.
int run(const Options& options) {
  bench::require_model(options.model);
  std::vector<std::unique_ptr<Engine>> engines;
  for (const char* plan : kPlans) engines.push_back(open(options.model, plan));
  const auto ids = bench::some_ids(engines[0]->model().config().vocabulary, kPromptTokens);
  bench::verify_equal(engines, ids);

  Phase phases[] = {{"prefill 256", static_cast<double>(kPromptTokens), time_prompt, {}, {}},
                    {"decode", 1, time_decode, {}, {}}};
  for (int round = -1; round < options.rounds; ++round) {  // round -1 warms up
    for (Phase& phase : phases) {
      double seconds[3];
      for (int i = 0; i < 3; ++i) {
        const int e = (i + std::max(round, 0)) % 3;  // each round begins with another plan
        seconds[e] = phase.time(*engines[static_cast<size_t>(e)], ids);
      }
      if (round < 0) continue;
      for (int e = 0; e < 3; ++e) phase.seconds[e].push_back(seconds[e]);
      phase.ratios.push_back(std::min(seconds[0], seconds[1]) / seconds[2]);
    }
  }

  nlohmann::json rows = nlohmann::json::array();
  if (!options.json) {
    std::printf("%s, act f16, %s; %d rounds, medians, all times measured (wall clock)\n\n",
                std::filesystem::path(options.model).filename().c_str(),
                tandem::to_string(engines[0]->machine().layout()).c_str(), options.rounds);
    std::printf(
        "| phase | gpu-only t/s | npu-only t/s | tensor t/s | tensor / better of both: median | lowest | highest |\n");
    std::printf("| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  }
  for (const Phase& phase : phases) {
    double rate[3];
    for (int e = 0; e < 3; ++e) rate[e] = phase.tokens / tandem::median(phase.seconds[e]);
    const auto [low, high] = std::minmax_element(phase.ratios.begin(), phase.ratios.end());
    if (!options.json) {
      std::printf("| %s | %.1f | %.1f | %.1f | %.2f | %.2f | %.2f |\n", phase.name, rate[0], rate[1], rate[2],
                  tandem::median(phase.ratios), *low, *high);
    }
    rows.push_back({{"phase", phase.name},
                    {"clock", "measured"},
                    {"gpu_only_ts", rate[0]},
                    {"npu_only_ts", rate[1]},
                    {"tensor_ts", rate[2]},
                    {"ratio_median", tandem::median(phase.ratios)},
                    {"ratio_min", *low},
                    {"ratio_max", *high},
                    {"rounds", options.rounds}});
  }
  if (options.json)
    std::printf("%s\n", nlohmann::json{{"schema", 1}, {"bench", "split"}, {"rows", rows}}.dump(1).c_str());
  return 0;
}

}  // namespace

// One model, and flags that are read by hand.
int main(int argc, char** argv) {
  Options options;
  options.model = bench::default_model();
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--json") {
      options.json = true;
    } else if (argument == "--rounds" && i + 1 < argc) {
      options.rounds = std::max(1, std::atoi(argv[++i]));
    } else if (argument == "--help" || argument[0] == '-') {
      std::printf("split [MODEL.gguf] [--rounds N] [--json]: GPU and NPU together against either alone\n");
      return argument == "--help" ? 0 : 2;
    } else {
      options.model = argument;
    }
  }
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
