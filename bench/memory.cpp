// Question: how much memory does a run take beyond what it needs, the weights and the cache that it has filled?
//
//   memory [MODEL...] [--tokens N] [--json]
//
// Each run is a process of its own, with a context of 2,048 positions of which it fills `tokens`. One run uses the NPU
// alone and loads no driver. Another uses GPU and NPU (`sequence`). A GPU run before it does not count: it leaves
// compiled programs in the user's cache, as any first run does.
// The bench judges the peak without the GPU's driver, and lists the driver apart, because with PoCL it is a compiler.
// The driver's libraries are the files that were mapped since the engine was opened. They are subtracted all through
// the run. A driver that starts while the last weights are packed has more of them in memory then than at the end, when
// they are listed.
// The driver's heap is the memory without a file, at the end, that the run has beyond the one without a GPU. The kernel
// counts the bytes, in this very run.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/engines.h"
#include "bench/resident.h"
#include "engine/device/gpu/kept_file.h"
#include "engine/device/registry.h"
#include "engine/run/engine.h"
#include "sync/error.h"

namespace {

using nlohmann::json;
using tandem::Engine;
namespace bench = tandem::bench;

constexpr double kTarget = 1.3;
constexpr int64_t kContext = 2048;

struct Options {
  std::vector<std::string> models;
  int64_t tokens = 20;  // positions to fill: a short prompt and a part of an answer
  bool json = false;
  std::string child;  // the plan that this process runs; "": this process starts the others
};

// Bytes of keys and values of the filled positions, as 16-bit floats.
size_t touched_cache_bytes(const tandem::ModelConfig& config, int64_t positions) {
  return static_cast<size_t>(config.layers * (config.k_width() + config.v_width()) * positions * 2);
}

std::vector<bench::Mapping> mappings_now() {
  std::ifstream smaps("/proc/self/smaps");
  return bench::read_mappings(smaps);
}

// Samples the memory of this process every millisecond, from its construction on.
class Watch {
 public:
  Watch(std::string model, std::set<std::string> files_before)
      : model_(std::move(model)), before_(std::move(files_before)), thread_([this](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            look();
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
        }) {}
  // The most memory at once without drivers' libraries. It is the peak if the system does not list mappings.
  size_t most_without_drivers() {
    thread_.request_stop();
    thread_.join();
    look();
    return most_ > 0 ? most_ : bench::peak_bytes();
  }

 private:
  void look() {
    const bench::Resident now = bench::sort_out(mappings_now(), before_, model_);
    most_ = std::max(most_, now.total() - now.drivers);
  }

  const std::string model_;
  const std::set<std::string> before_;
  size_t most_ = 0;
  std::jthread thread_;
};

// The run that is measured. A quarter of the tokens is a prompt and the rest are single tokens, so both kinds of passes
// have taken their memory. It prints one line of JSON for its parent.
int run_child(const Options& options) {
  const std::string model = std::filesystem::canonical(options.models.at(0));
  const auto before = bench::files_of(mappings_now());
  Watch watch(model, before);
  tandem::EngineOptions engine_options;
  engine_options.model_path = model;
  engine_options.plan = options.child;
  engine_options.context = kContext;
  if (options.child == "npu-only") engine_options.devices = {"npu:0", "host"};
  engine_options.program_folder = tandem::gpu::default_cache_folder();
  const auto engine = Engine::open(engine_options);
  const auto ids = bench::some_ids(engine->model().config().vocabulary, options.tokens);
  const size_t prompt = ids.size() / 4;
  tandem::Sequence text = engine->cache().new_sequence();
  tandem::extend(*engine, text, std::span(ids).first(prompt));
  for (size_t i = prompt; i < ids.size(); ++i) tandem::extend(*engine, text, std::span(&ids[i], 1));
  const bench::Resident now = bench::sort_out(mappings_now(), before, model);
  const json report = {{"plan", engine->plans().name()},
                       {"devices", engine->machine().device_names()},
                       {"weight_bytes", engine->model().weight_bytes()},
                       {"cache_bytes", touched_cache_bytes(engine->model().config(), text.position())},
                       {"activation_bytes", engine->activation_bytes()},
                       {"peak_bytes", bench::peak_bytes()},
                       {"peak_without_libraries_bytes", watch.most_without_drivers()},
                       {"model_file_bytes", now.model_file},
                       {"driver_library_bytes", now.drivers},
                       {"program_bytes", now.program},
                       {"memory_bytes", now.memory}};
  std::printf("%s\n", report.dump().c_str());
  return 0;
}

// Names of files may have blanks and quotes, and the command goes through a shell.
std::string quoted(const std::string& text) {
  std::string safe = "'";
  for (const char c : text) safe += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return safe + "'";
}

// A process of its own for each run, because a peak never falls and drivers never give memory back.
json in_a_process(const std::string& plan, const std::string& model, int64_t tokens) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command =
      quoted(program) + " " + quoted(model) + " --tokens " + std::to_string(tokens) + " --child " + plan;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw tandem::Error("cannot start a process", program);
  std::string output;
  for (int c = std::getc(pipe); c != EOF; c = std::getc(pipe)) output += static_cast<char>(c);
  if (pclose(pipe) != 0) throw tandem::Error("a run failed; its own words are above", plan + ", " + model);
  return json::parse(output);
}

// Adds the judged figures to a run: ratios to weights and touched cache.
void judge(json& run, const json& without_gpu) {
  const double needed = run["weight_bytes"].get<double>() + run["cache_bytes"].get<double>();
  const double peak = run["peak_bytes"].get<double>();
  const double heap = std::max(0.0, run["memory_bytes"].get<double>() - without_gpu["memory_bytes"].get<double>());
  run["driver_heap_bytes"] = heap;
  run["ratio"] = peak / needed;
  run["ratio_without_driver"] = (run["peak_without_libraries_bytes"].get<double>() - heap) / needed;
  run["target"] = kTarget;
  run["met"] = run["ratio_without_driver"].get<double>() <= kTarget;
}

bool has_gpu() {
  return std::ranges::any_of(tandem::available_devices(), [](const std::string& id) {
    return id.starts_with("opencl") || id.starts_with("vulkan");
  });
}

// The run without a GPU comes first. Memory of another run beyond it is the driver's.
std::vector<json> measure(const std::string& model, int64_t tokens, bool gpu) {
  std::vector<json> runs = {in_a_process("npu-only", model, tokens)};
  if (gpu) {
    in_a_process("sequence", model, tokens);  // compiles the kernels
    runs.push_back(in_a_process("sequence", model, tokens));
  }
  for (json& run : runs) {
    run["model"] = std::filesystem::path(model).filename();
    run["positions"] = tokens;
    judge(run, runs[0]);
  }
  return runs;
}

void print(const std::vector<json>& runs) {
  std::printf(
      "| model | devices | weights, MB | touched cache, MB | peak, MB | of both | driver: libraries, MB | its heap, MB "
      "| "
      "peak without the driver, of both | wanted | |\n"
      "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n");
  for (const json& run : runs) {
    const auto mega = [&](const char* key) { return run[key].get<double>() / 1e6; };
    std::printf("| %s | %s | %.1f | %.2f | %.1f | %.3f | %.1f | %.1f | %.3f | ≤ %.1f | %s |\n",
                run["model"].get<std::string>().c_str(), run["devices"].get<std::string>().c_str(),
                mega("weight_bytes"), mega("cache_bytes"), mega("peak_bytes"), run["ratio"].get<double>(),
                mega("driver_library_bytes"), mega("driver_heap_bytes"), run["ratio_without_driver"].get<double>(),
                kTarget, run["met"].get<bool>() ? "met" : "missed");
  }
}

// The program calls itself with --child for each run.
int run(Options options) {
  if (options.models.empty()) options.models = {bench::default_model()};
  for (const std::string& model : options.models) bench::require_model(model);
  if (!options.child.empty()) return run_child(options);
  std::vector<json> all;
  const bool gpu = has_gpu();
  for (const std::string& model : options.models)
    for (json& one : measure(model, options.tokens, gpu)) all.push_back(std::move(one));
  if (options.json) {
    std::printf("%s\n",
                json({{"schema", 1}, {"bench", "memory"}, {"clock", "none: bytes"}, {"runs", all}}).dump(1).c_str());
  } else {
    print(all);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("memory: a run's peak, of weights and touched cache");
  app.add_option("models", options.models, "GGUF files; default: the one that ./dev run fetched");
  app.add_option("--tokens", options.tokens, "positions of the cache that a run fills")->check(CLI::Range(4, 2048));
  app.add_flag("--json", options.json);
  app.add_option("--child", options.child, "the plan that this very process runs (how the program calls itself)");
  return bench::bench_main(app, argc, argv, [&] { return run(options); });
}
