// Golden data of whole models: where the data lies, how tests read it, and how they compare an engine's logits with it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/registry.h"
#include "engine/run/engine.h"
#include "engine/run/serve/extend.h"
#include "engine/run/serve/sampler.h"
#include "tests/engine/device/driver_faults.h"
#include "tests/engine/run/logits.h"
#include "tests/engine/run/rounding.h"
#include "tests/engine/run/shared_machines.h"
#include "tests/support/data.h"
#include "tests/support/kernel_families.h"
#include "tests/support/program_folder.h"
#include "tests/support/requirements.h"
#include "tests/support/scratch_folder.h"

namespace tandem::testing {

inline nlohmann::json read_json(const std::string& path) { return nlohmann::json::parse(std::ifstream(path)); }

// A way to run a model: the options that a user would write on the command line.
struct Way {
  std::string plan;
  std::vector<double> split;
  std::string family = "";
  std::optional<ActType> act{};
  KvType kv = KvType::f32;
  bool copies = false;
  std::string sync = "predict";
  std::vector<std::string> devices = {};  // empty: the plan's default devices

  std::string name() const {
    std::string text = plan;
    for (const double share : split) text += " split " + std::to_string(share);
    if (!family.empty()) text += " " + family;
    if (act) text += std::string(" act ") + to_string(*act);
    text += kv == KvType::f16 ? " kv f16" : " kv f32";
    if (copies) text += " copies";
    if (sync != "predict") text += " sync " + sync;
    for (const std::string& id : devices) text += " " + id;
    return text;
  }
  friend void PrintTo(const Way& way, std::ostream* out) { *out << way.name(); }
  bool uses_npu() const { return plan != "gpu-only" && plan != "host-only"; }
};

// For INSTANTIATE_TEST_SUITE_P, which allows letters, digits and underscores only.
inline std::string test_name(const ::testing::TestParamInfo<Way>& info) {
  std::string name = info.param.name();
  std::ranges::replace_if(
      name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}

// The measurements of all engines of one test process. They are removed when it ends.
struct MeasurementsOfThisProcess {
  const ScratchFolder folder;
  const std::string path = folder.file("measured.json");
};

inline EngineOptions options_for(const std::string& model, const Way& way) {
  EngineOptions options;
  options.program_folder = test::program_folder();
  options.model_path = model;
  options.plan = way.plan;
  options.split = way.split;
  options.device_hooks.gpu_family = family_named(way.family);
  options.wait_deadline = std::chrono::minutes(15);  // SwiftShader takes more than two for a pass of 512 tokens
  options.act = way.act.value_or(way.uses_npu() ? ActType::f16 : ActType::f32);  // golden logits are f32
  options.kv_type = way.kv;
  options.device_hooks.force_copies = way.copies;
  options.sync_policy = sync::policy_named(way.sync);
  options.devices = way.devices;
  static const MeasurementsOfThisProcess measurements;  // engines of one model use the same
  options.measurements = measurements.path;
  if (way.plan != "auto") {
    options.plan_hooks.tries_plans = false;  // the test is about the named plan
    options.plan_hooks.learns = false;       // a measured pass has kernels of its own: half of all kernels
  }
  return options;
}

// The part of a way that its machine depends on.
inline std::string machine_key(const Way& way) {
  Way part = way;
  if (way.plan == "tensor" || way.plan == "staggered") part.plan = "layer";  // these use the same devices
  part.split.clear();
  part.act.reset();
  part.kv = {};
  return part.name();
}

inline std::unique_ptr<Engine> open_engine(const std::string& model, const Way& way, int64_t chunk = 512) {
  EngineOptions options = options_for(model, way);
  options.chunk = options.logit_rows = chunk;
  return shared_machines().open(options, machine_key(way));
}

inline Rounded rounded_by(const Way& way) {
  const bool f16 = way.act.value_or(way.uses_npu() ? ActType::f16 : ActType::f32) == ActType::f16;
  return {f16, way.uses_npu(), way.kv == KvType::f16};
}

// The bound for golden logits that users rely on: 2e-3 if everything is f32, 3e-2 if anything is rounded to f16.
// Rounding alone should stay far below it.
inline double promised(const Rounded& rounded) {
  return rounded.activations || rounded.weights || rounded.keys_and_values ? 3e-2 : 2e-3;
}

// Compares logits [tokens, vocabulary], or one token's, with golden ones. They must be within the promised bound, and
// within the bound that rounding explains (rounding.h).
inline void expect_golden_logits(const ModelConfig& config, const Way& way, std::span<const float> logits,
                                 std::span<const float> golden) {
  const Rounded rounded = rounded_by(way);
  const LogitBounds bounds = logit_bounds(config, rounded, golden);
  EXPECT_LE(largest_difference(logits, golden), std::min(promised(rounded), bounds.largest));
  EXPECT_LE(rms_difference(logits, golden), bounds.rms);
}

// The reason why the default GPU's sums differ from the host's, if it has no fused multiply-add. Otherwise "".
inline std::string sums_differ(ActType act) {
  const auto gpu = open_engine(repository_data("mixed-models/first.gguf"), {"gpu-only", {}, "simd", act}, 1);
  for (const std::string& reason : gpu->contract().other_bits)
    if (reason.find("not fused") != std::string::npos) return reason;
  return "";
}
#define SKIP_WHERE_SUMS_DIFFER(act) \
  if (const std::string reason = sums_differ(act); !reason.empty()) GTEST_SKIP() << "skipped: " << reason

// Skips if a named device is absent, or fails if it is required. Skips kernels that the driver miscompiles.
inline void need_devices(const Way& way) {
  const std::vector<std::string> available = available_devices();
  for (const std::string& id : way.devices) {
    if (std::ranges::count(available, id) == 0) SKIP_OR_FAIL(test::needs_of(id), "there is no device " + id);
    SKIP_WHERE_MISCOMPILED(id, way.family);
  }
  if (way.devices.empty()) SKIP_WHERE_MISCOMPILED(best_gpu(), way.family);
}

// Appends tokens to a text. Returns the logits of all of them.
inline std::vector<float> all_logits(Engine& engine, Sequence& text, std::span<const int32_t> ids) {
  std::vector<float> out;
  extend_all(engine, text, ids,
             [&](int64_t, std::span<const float> logits) { out.insert(out.end(), logits.begin(), logits.end()); });
  return out;
}
inline std::vector<float> all_logits(Engine& engine, std::span<const int32_t> ids) {
  Sequence text = engine.cache().new_sequence();
  return all_logits(engine, text, ids);
}

inline std::vector<int32_t> greedy(Engine& engine, std::span<const int32_t> prompt, size_t count) {
  std::vector<int32_t> ids;
  Sequence text = engine.cache().new_sequence();
  Logits logits = extend(engine, text, prompt);
  while (ids.size() < count) {
    ids.push_back(greedy_choice(logits));
    if (ids.size() < count) logits = extend(engine, text, std::span(&ids.back(), 1));
  }
  return ids;
}

}  // namespace tandem::testing
