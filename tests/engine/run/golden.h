// Golden data of whole models: where it lies, how it is read, and how an engine's logits are compared with it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/gpu/kept_file.h"
#include "engine/device/registry.h"
#include "engine/run/engine.h"
#include "engine/run/sampler.h"
#include "tests/support/data.h"

namespace tandem::testing {

inline nlohmann::json read_json(const std::string& path) { return nlohmann::json::parse(std::ifstream(path)); }

inline std::vector<float> read_floats(const std::string& path) {
  std::vector<float> values(std::filesystem::file_size(path) / sizeof(float));
  std::ifstream(path, std::ios::binary)
      .read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
  return values;
}

// The default model, where `./dev run` keeps it, or TANDEM_MODEL.
inline std::optional<std::string> default_model() {
  const char* named = std::getenv("TANDEM_MODEL");
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::string folder = cache && *cache ? cache : std::string(home ? home : "") + "/.cache";
  const std::string path = named && *named ? named : folder + "/tandem/models/SmolLM2-135M-Instruct.Q4_1.gguf";
  if (!std::filesystem::exists(path)) return std::nullopt;
  return path;
}

// A way to run a model: what a user would put on the command line.
struct Way {
  std::string plan;
  std::vector<double> split;
  std::string family = "";
  std::string act = "";
  KvType kv = KvType::f32;
  bool copies = false;
  std::string sync = "predict";
  std::vector<std::string> devices = {};  // empty: the plan's default

  std::string name() const {
    std::string text = plan;
    for (const double share : split) text += " split " + std::to_string(share);
    if (!family.empty()) text += " " + family;
    if (!act.empty()) text += " act " + act;
    text += kv == KvType::f16 ? " kv f16" : " kv f32";
    if (copies) text += " copies";
    if (sync != "predict") text += " sync " + sync;
    for (const std::string& id : devices) text += " " + id;
    return text;
  }
  friend void PrintTo(const Way& way, std::ostream* out) { *out << way.name(); }
  bool uses_npu() const { return plan != "gpu-only" && plan != "host-only"; }
};

// For INSTANTIATE_TEST_SUITE_P: letters, digits and underscores only.
inline std::string test_name(const ::testing::TestParamInfo<Way>& info) {
  std::string name = info.param.name();
  std::ranges::replace_if(
      name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}

// What engines of one test process measured: removed when it ends.
class MeasurementsOfThisProcess {
 public:
  ~MeasurementsOfThisProcess() { std::filesystem::remove(path); }
  const std::string path =
      (std::filesystem::temp_directory_path() / ("tandem_golden_" + std::to_string(getpid()) + ".json")).string();
};

inline std::unique_ptr<Engine> open_engine(const std::string& model, const Way& way, int64_t chunk = 512) {
  EngineOptions options;
  options.program_folder = gpu::default_cache_folder();  // building a program again and again is most of a short test
  options.model_path = model;
  options.plan = way.plan;
  options.split = way.split;
  options.gpu_family = way.family;
  options.act = way.act;
  options.kv_type = way.kv;
  options.force_copies = way.copies;
  options.sync_policy = way.sync;
  options.devices = way.devices;
  options.chunk = chunk;
  options.outputs = chunk;
  static const MeasurementsOfThisProcess measurements;  // engines of one model need the same
  options.measurements = measurements.path;
  options.keeps_contended = true;
  options.tries_plans = false;  // the plan that is named is to be tested
  return Engine::open(options);
}

// Skips where a named device is absent, and fails there when it is required.
inline void need_devices(const Way& way) {
  const std::vector<std::string> available = available_devices();
  for (const std::string& id : way.devices) {
    if (std::ranges::count(available, id) > 0) continue;
    ASSERT_FALSE(id.starts_with("vulkan") && std::getenv("REQUIRE_VULKAN")) << id << " is absent, and required";
    ASSERT_FALSE(id.starts_with("opencl") && std::getenv("REQUIRE_OPENCL")) << id << " is absent, and required";
    GTEST_SKIP() << "skipped: there is no device " << id;
  }
}

inline std::vector<float> all_logits(Engine& engine, std::span<const int32_t> ids) {
  std::vector<float> out;
  engine.rewind(0);
  engine.extend_all(
      ids, [&](int64_t, std::span<const float> logits) { out.insert(out.end(), logits.begin(), logits.end()); });
  return out;
}

inline double largest_difference(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) return INFINITY;
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - b[i]);
    if (!(difference <= largest)) largest = difference;  // a NaN counts as largest
  }
  return largest;
}

// How many values differ in any bit.
inline size_t different_bits(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) return std::max(a.size(), b.size());
  size_t count = 0;
  for (size_t i = 0; i < a.size(); ++i) count += std::memcmp(&a[i], &b[i], sizeof(float)) != 0;
  return count;
}

inline std::vector<int32_t> greedy(Engine& engine, std::span<const int32_t> prompt, size_t count) {
  std::vector<int32_t> ids;
  engine.rewind(0);
  std::span<const float> logits = engine.extend(prompt);
  while (ids.size() < count) {
    ids.push_back(greedy_choice(logits));
    if (ids.size() < count) logits = engine.extend(std::span(&ids.back(), 1));
  }
  return ids;
}

}  // namespace tandem::testing
