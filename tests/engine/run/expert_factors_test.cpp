// Mixtures whose matrices have NVFP4 and factors, those of experts among them. The reference is a forward pass in
// double precision. No bit changes, whatever the device, the plan and the budget, and what cannot multiply says so
// by name.
#include <gmock/gmock.h>

#include <algorithm>

#include "engine/device/registry.h"
#include "engine/run/machine/expert_store.h"
#include "engine/run/pass_plans.h"
#include "tests/engine/run/golden.h"
#include "tests/engine/run/host_engine.h"
#include "tests/engine/run/made_models.h"
#include "tests/engine/run/reference_forward.h"

namespace tandem::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// Shared experts, and biases behind the factors.
const MadeModel kMixtures[] = {
    {"factors-bailingmoe",
     R"({"schema": 1, "architecture": "bailingmoe", "layers": 3, "hidden": 64, "feed_forward": 128, "heads": 4,
         "kv_heads": 2, "vocabulary": 300, "context_length": 256, "experts": 6, "experts_used": 2,
         "expert_feed_forward": 64, "shared_feed_forward": 128})",
     [](ModelConfig& config) { config.experts->normalised = true; }},
    {"factors-gpt-oss",
     R"({"schema": 1, "architecture": "gpt-oss", "layers": 3, "hidden": 64, "feed_forward": 128, "heads": 4,
         "kv_heads": 2, "head_dim": 32, "vocabulary": 300, "context_length": 256, "sliding_window": 7, "experts": 6,
         "experts_used": 2, "expert_feed_forward": 64})",
     [](ModelConfig&) {}},
};

// The model's file with a factor beside each matrix of its layers. The first layer's gates and ups share theirs, and
// the last layer's downs have none but 1.
std::string with_factors(const MadeModel& made) {
  static const ScratchFolder folder;
  const std::string path = folder.file(std::string(made.name) + ".gguf");
  if (std::ifstream(path)) return path;
  const GgufFile plain = GgufFile::open(made.file(StorageType::nvfp4));
  GgufWriter writer;
  for (const std::string& key : plain.keys()) {
    const GgufStored value = plain.require_stored(key);
    writer.raw(key, value.type, {value.bytes.begin(), value.bytes.end()});
  }
  float factor = 0.6f;
  for (const GgufTensor& tensor : plain.tensors()) {
    writer.tensor(tensor.name, tensor.shape, tensor.type, {tensor.data, tensor.data + tensor.bytes});
    if (tensor.type != StorageType::nvfp4 || !tensor.name.starts_with("blk.")) continue;
    const int64_t count = tensor.shape.size() > 2 ? tensor.shape[2] : 1;
    const bool is_shared = tensor.name == "blk.0.ffn_gate_exps.weight" || tensor.name == "blk.0.ffn_up_exps.weight";
    ByteSink factors;
    for (int64_t i = 0; i < count; ++i) {
      factor = factor > 1.6f ? 0.6f : factor + 0.07f;
      factors.put(tensor.name == "blk.2.ffn_down_exps.weight" ? 1.0f
                  : is_shared                                 ? 0.7f + 0.11f * static_cast<float>(i)
                                                              : factor);
    }
    const std::string name = tensor.name.substr(0, tensor.name.size() - std::string("weight").size());
    writer.tensor(name + "scale", {count}, StorageType::f32, factors.bytes());
    writer.tensor(name + "input_scale", {count}, StorageType::f32, factors.bytes());
  }
  write_file(path, writer.bytes());
  return path;
}

std::vector<int32_t> reference_ids() { return tandem::testing::some_ids(300, 45); }

class ExpertFactors : public ::testing::TestWithParam<Way> {
 protected:
  void SetUp() override { need_devices(GetParam()); }
};

TEST_P(ExpertFactors, give_the_logits_of_the_description) {
  const std::vector<int32_t> ids = reference_ids();
  for (const MadeModel& made : kMixtures) {
    SCOPED_TRACE(made.name);
    const std::string path = with_factors(made);
    const std::vector<float> expected = reference_logits(GgufFile::open(path), ids),
                             without = reference_logits(GgufFile::open(made.file(StorageType::nvfp4)), ids);
    EXPECT_GT(largest_difference(expected, without), 0.3) << "factors that say something";
    const auto engine = open_engine(path, GetParam());
    const std::vector<float> logits = all_logits(*engine, ids);
    EXPECT_LE(largest_difference(logits, expected), promised(rounded_by(GetParam())));
    // Few tokens find their experts without lists.
    Sequence text = engine->cache().new_sequence();
    const int64_t V = engine->model().config().vocabulary;
    for (int64_t i = 0; i < std::ssize(ids); i += 3) {
      const auto some = all_logits(*engine, text, std::span(ids).subspan(static_cast<size_t>(i), 3));
      ASSERT_LE(largest_difference(some, rows(expected, i, 3, V)), promised(rounded_by(GetParam()))) << "token " << i;
    }
  }
}

// Texts of other lengths are beginnings of the same text.
TEST_P(ExpertFactors, give_them_where_eight_texts_share_a_pass) {
  constexpr int64_t kTexts = 8;
  const std::vector<int32_t> ids = reference_ids();
  const std::string path = with_factors(kMixtures[0]);
  const std::vector<float> expected = reference_logits(GgufFile::open(path), ids);
  EngineOptions options = options_for(path, GetParam());
  options.chunk = 256;
  options.logit_rows = options.sequences = kTexts;
  const auto engine = shared_machines().open(options, machine_key(GetParam()));
  std::vector<Sequence> texts;
  for (int64_t i = 0; i < kTexts; ++i) texts.push_back(engine->cache().new_sequence());
  std::vector<Extension> extensions;
  for (int64_t i = 0; i < kTexts; ++i)
    extensions.push_back({&texts[static_cast<size_t>(i)], std::span(ids).first(static_cast<size_t>(3 + 6 * i)), 1});
  const Logits found = engine->extend(extensions);
  const int64_t V = engine->model().config().vocabulary;
  for (int64_t i = 0; i < kTexts; ++i)
    EXPECT_LE(largest_difference(rows({found.data(), found.size()}, i, 1, V), rows(expected, 2 + 6 * i, 1, V)),
              promised(rounded_by(GetParam())))
        << i;
}

INSTANTIATE_TEST_SUITE_P(
    Plans, ExpertFactors,
    ::testing::Values(Way{"host-only", {}}, Way{"gpu-only", {}, "simd"}, Way{"gpu-only", {}, "simt"},
                      Way{"tensor", {0.5}}, Way{"npumoe", {}},
                      Way{"gpu-only", {}, "simd", {}, KvType::f32, false, "predict", {"vulkan:0"}}),
    test_name);

class ExpertFactorBits : public ExpertFactors {};

TEST_P(ExpertFactorBits, are_those_of_the_host) {
  const ActType act = GetParam().act.value();
  const std::vector<int32_t> ids = reference_ids();
  for (const MadeModel& made : kMixtures) {
    SCOPED_TRACE(made.name);
    const std::string path = with_factors(made);
    const auto engine = open_engine(path, GetParam());
    const std::vector<float> found = all_logits(*engine, ids);
    EXPECT_EQ(different_bits(all_logits(*open_engine(path, GetParam(), 3), ids), found), 0u) << "in chunks";
    // Sums of such a device differ (lavapipe on some processors).
    if (std::ranges::any_of(engine->contract().other_bits,
                            [](const std::string& reason) { return reason.find("not fused") != std::string::npos; }))
      continue;
    const std::vector<float> expected = all_logits(*open_engine(path, Way{"host-only", {}, "", act}), ids);
    EXPECT_EQ(different_bits(found, expected), 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Plans, ExpertFactorBits,
    ::testing::Values(Way{"gpu-only", {}, "simd", ActType::f32}, Way{"gpu-only", {}, "simd", ActType::i8},
                      Way{"gpu-only", {}, "simt", ActType::f32},
                      Way{"gpu-only", {}, "simt", ActType::i8, KvType::f32, true},
                      Way{"npu-only", {}, "", ActType::f16}, Way{"tensor", {0.5}, "", ActType::f16},
                      Way{"staggered", {}, "", ActType::f16},
                      Way{"gpu-only", {}, "simd", ActType::f32, KvType::f32, false, "predict", {"vulkan:0"}},
                      Way{"gpu-only", {}, "simt", ActType::f32, KvType::f32, false, "predict", {"vulkan:0"}}),
    test_name);

// Engines whose experts move, or lie in near-memory units.
class ExpertFactorPlans : public ::testing::Test {
 protected:
  EngineOptions options(const std::string& model, const std::string& plan, std::vector<std::string> devices,
                        double slots = 0) const {
    const Way way{plan,      {},     devices.front() == "host" ? "" : "simd", ActType::f32, KvType::f16, false,
                  "predict", devices};
    EngineOptions options = options_for(model, way);
    options.chunk = options.logit_rows = 100;
    options.context = 250;
    if (slots > 0) options.expert_budget = {ExpertBudget::Unit::percent, 100 * (slots + 0.5) / 6};
    options.expert_folder = folder_.file("packed");
    options.hot_experts = false;
    return options;
  }
  // Logits of all tokens of a prompt, then of passes of so many tokens.
  static std::vector<float> logits_of(Engine& engine) {
    std::vector<float> all;
    Sequence text = engine.cache().new_sequence();
    for (const int count : {120, 1, 1, 3, 1, 17, 1, 1}) {
      const std::vector<float> logits = all_logits(engine, text, tandem::testing::some_ids(300, count));
      all.insert(all.end(), logits.begin(), logits.end());
    }
    return all;
  }

  const ScratchFolder folder_;
};

TEST_F(ExpertFactorPlans, change_no_bit_where_experts_move) {
  for (const MadeModel& made : kMixtures) {
    SCOPED_TRACE(made.name);
    const std::string path = with_factors(made);
    const std::vector<float> expected = logits_of(*Engine::open(options(path, "host-only", {"host"})));
    for (const double slots : {1, 2, 5}) {
      const auto engine = Engine::open(options(path, "host-only", {"host"}, slots));
      ASSERT_EQ(engine->model().expert_store()->slots(), static_cast<int64_t>(slots));
      EXPECT_EQ(different_bits(logits_of(*engine), expected), 0u) << slots;
    }
  }
}

TEST_F(ExpertFactorPlans, change_no_bit_where_lanes_divide_experts) {
  for (const MadeModel& made : kMixtures) {
    SCOPED_TRACE(made.name);
    const std::string path = with_factors(made);
    const std::vector<float> expected = logits_of(*Engine::open(options(path, "host-only", {"host"})));
    for (const char* plan : {"hybrimoe", "moe-fixed-transfer", "moe-lru", "moe-layer-split", "moe-fiddler"})
      for (const double slots : {1, 4}) {
        EngineOptions divided = options(path, plan, {"host"}, slots);
        divided.expert_copies = true;
        EXPECT_EQ(different_bits(logits_of(*Engine::open(divided)), expected), 0u) << plan << ", " << slots;
      }
  }
}

TEST_F(ExpertFactorPlans, change_no_bit_where_opencl_and_the_host_divide_experts) {
  need_devices({"", {}, "simd", ActType::f32, KvType::f16, false, "predict", {"opencl:0", "host"}});
  SKIP_WHERE_SUMS_DIFFER(ActType::f32);
  const std::string path = with_factors(kMixtures[1]);
  const std::vector<float> expected = logits_of(*Engine::open(options(path, "gpu-only", {"opencl:0"})));
  for (const char* plan : {"hybrimoe", "moe-lru", "moe-layer-split"}) {
    EngineOptions divided = options(path, plan, {"opencl:0", "host"}, 2);
    divided.expert_copies = true;
    EXPECT_EQ(different_bits(logits_of(*Engine::open(divided)), expected), 0u) << plan;
  }
}

// A packed file has the factors too, and is as good as the model's file.
TEST_F(ExpertFactorPlans, change_no_bit_where_packed_weights_are_kept) {
  const std::string path = with_factors(kMixtures[0]);
  const std::vector<float> expected = logits_of(*Engine::open(options(path, "host-only", {"host"})));
  EngineOptions kept = options(path, "host-only", {"host"});
  kept.pack_cache_folder = kept.expert_folder;
  for (const char* how : {"written", "mapped"})
    EXPECT_EQ(different_bits(logits_of(*Engine::open(kept)), expected), 0u) << how;
  EXPECT_EQ(different_bits(logits_of(*Engine::open(options(path, "host-only", {"host"}, 3))), expected), 0u);
}

TEST_F(ExpertFactorPlans, refuse_near_memory_units_by_name) {
  const auto run = [&] {
    logits_of(*Engine::open(options(with_factors(kMixtures[0]), "gpu-ndp", {"host", "ndp:0", "ndp:1"})));
  };
  EXPECT_THAT(test::message_of(run), HasSubstr("near-memory units compute no factors of experts"));
  // Without a named plan, the units are left alone.
  const std::string path = with_factors(kMixtures[0]);
  const std::vector<float> expected = logits_of(*Engine::open(options(path, "host-only", {"host"})));
  EXPECT_EQ(different_bits(logits_of(*Engine::open(options(path, "auto", {"host", "ndp:0", "ndp:1"}))), expected), 0u);
}

}  // namespace
}  // namespace tandem::testing
