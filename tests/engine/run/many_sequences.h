// Shared parts of the tests of many sequences in one batch: a small model, texts, and the ways to run them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/run/engine.h"
#include "tests/engine/device/every_device.h"
#include "tests/engine/run/golden.h"
#include "tests/engine/run/host_engine.h"

namespace tandem::testing {

inline constexpr int64_t kSequences = 16, kContext = 640;

inline TinyModel model_of_many() {
  TinyModel model;
  model.type = StorageType::f16;
  model.context_length = 1024;
  return model;
}

inline std::vector<int32_t> ids_of(int64_t text, int64_t count) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i)
    ids.push_back(static_cast<int32_t>(3 + (i * i + (5 + text) * i + 11 * text) % 300));
  return ids;
}

// A test that runs in each of ways_of_many().
class ManyOnDevices : public ::testing::TestWithParam<Way> {
 protected:
  void SetUp() override { need_devices(GetParam()); }
  EngineOptions options(int64_t sequences, int64_t chunk) const {
    EngineOptions all = options_for(engines_.path(), GetParam());
    all.context = kContext;
    all.chunk = chunk;
    all.logit_rows = 3 * kSequences;
    all.sequences = sequences;
    return all;
  }
  bool is_slow() const { return GetParam().devices == std::vector<std::string>{"vulkan:0"}; }

  const HostEngines engines_{"many", model_of_many()};
};

inline std::vector<Way> ways_of_many() {
  return {Way{"host-only", {}, "", ActType::f16, KvType::f16, false, "predict", {"host"}},
          Way{"host-only", {}, "", ActType::f32, KvType::f32, false, "predict", {"host"}},
          Way{"gpu-only", {}, "simd", ActType::f16, KvType::f16, false, "predict", {"opencl:0"}},
          Way{"gpu-only", {}, "simt", ActType::f16, KvType::f16, false, "predict", {"opencl:0"}},
          Way{"gpu-only", {}, "simd", ActType::f16, KvType::f16, true, "predict", {"opencl:0"}},
          Way{"gpu-only", {}, "simd", ActType::f16, KvType::f16, false, "predict", {"vulkan:0"}},
          Way{"npu-only", {}, "", ActType::f16, KvType::f16, false, "predict", {"npu:0", "host"}},
          Way{"tensor", {0.5}, "simd", ActType::f16, KvType::f16, false, "predict", {"opencl:0", "npu:0"}},
          Way{"sequence", {0.5}, "simd", ActType::f16, KvType::f16, false, "predict", {"opencl:0", "npu:0", "host"}},
          Way{"staggered", {0.5}, "simd", ActType::f16, KvType::f16, false, "predict", {"opencl:0", "npu:0", "host"}}};
}

// A test on the host.
class HostSequences : public ::testing::Test {
 protected:
  std::unique_ptr<Engine> open(int64_t sequences, int64_t chunk = 64) const {
    EngineOptions options = engines_.options(chunk);
    options.context = kContext;
    options.sequences = sequences;
    return Engine::open(options);
  }
  const HostEngines engines_{"sequences", model_of_many()};
};

}  // namespace tandem::testing
