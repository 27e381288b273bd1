// The numeric contract on whole models: cutting work differently never changes a bit.

#include "tests/engine/run/golden.h"
#include "tests/engine/run/kept_logits.h"

namespace tandem::testing {
namespace {

// Compares the logits of the last tokens of a prompt in pieces of each size with those of one piece.
void expect_same_bits_in_pieces(const std::string& model, const Way& way, int64_t tokens) {
  SCOPED_TRACE(model.substr(model.rfind('/') + 1) + " " + way.name());
  const auto whole = open_engine(model, way, tokens);
  const auto ids = some_ids(whole->model().config().vocabulary, tokens);
  const auto expected = all_logits(*whole, ids);
  expect_kept_logits(*whole, model, std::to_string(tokens) + " ids", way.kv, expected);
  for (int64_t piece : {1, 7, 64}) {
    const auto engine = open_engine(model, way, piece);
    EXPECT_EQ(different_bits(all_logits(*engine, ids), expected), 0u) << "in pieces of " << piece;
  }
}

class Chunks : public ::testing::TestWithParam<Way> {
 protected:
  void SetUp() override { need_devices(GetParam()); }
};

// Plans may cut a piece of another length at another place.
bool cuts_matmuls(const Way& way) { return way.plan != "gpu-only" && way.plan != "host-only" && way.plan != "layer"; }

TEST_P(Chunks, of_a_prompt_give_the_bits_of_the_whole) {
  const auto any = open_engine(repository_data("tiny-models/stories260K-F16.gguf"), GetParam(), 1);
  if (cuts_matmuls(GetParam()) && !any->contract().other_bits.empty())
    GTEST_SKIP() << "the devices' sums differ: " << any->contract().other_bits.front();
  for (const char* model : {"mixed-models/first.gguf", "mixed-models/second.gguf", "arch-models/qwen3-F32.gguf",
                            "arch-models/internlm2-F32.gguf", "tiny-models/stories260K-F16.gguf"}) {
    expect_same_bits_in_pieces(repository_data(model), GetParam(), 150);
  }
}

INSTANTIATE_TEST_SUITE_P(Plans, Chunks,
                         ::testing::Values(Way{"host-only", {}}, Way{"gpu-only", {}, "simd"},
                                           Way{"gpu-only", {}, "simd", ActType::f16, KvType::f16},
                                           Way{"layer", {}, "simd"}, Way{"tensor", {0.4}, "simd", {}, KvType::f16},
                                           Way{"staggered", {}, "simd"}, Way{"sequence", {}, "simd"},
                                           Way{"tensor", {0.4}, "simt", {}, KvType::f16}),
                         test_name);
// Only Vulkan plans are compared with each other. lavapipe's fma rounds twice, so other devices have other bits.
INSTANTIATE_TEST_SUITE_P(
    Vulkan, Chunks,
    ::testing::Values(
        Way{"gpu-only", {}, "simd", {}, KvType::f32, false, "predict", std::vector<std::string>{"vulkan:0"}},
        Way{"gpu-only", {}, "simd", ActType::f16, KvType::f16, false, "predict", std::vector<std::string>{"vulkan:0"}}),
    test_name);

const std::vector<Way> kCuts = {Way{"npu-only", {}}, Way{"layer", {}}, Way{"tensor", {0.1}}, Way{"tensor", {0.5}},
                                Way{"tensor", {0.9}}, Way{"tensor", {}},
                                // A card's kernels alone, and beside the NPU and the host.
                                Way{"gpu-only", {}, "simt"}, Way{"tensor", {0.3}, "simt"}};
const std::vector<Way> kWholePromptCuts = {Way{"staggered", {}}, Way{"sequence", {}}};

void expect_same_bits(const std::string& model, int64_t tokens, KvType kv, const std::vector<Way>& ways) {
  const auto gpu = open_engine(model, {"gpu-only", {}, "simd", ActType::f16, kv}, tokens);
  const auto ids = some_ids(gpu->model().config().vocabulary, tokens);
  const auto expected = all_logits(*gpu, ids);
  expect_kept_logits(*gpu, model, std::to_string(tokens) + " ids", kv, expected);
  const auto expected_ids = greedy(*gpu, ids, 8);
  for (const Way& way : ways) {
    Way full = way;
    if (full.family.empty()) full.family = "simd";
    full.act = ActType::f16;
    full.kv = kv;
    SCOPED_TRACE(model.substr(model.rfind('/') + 1) + " " + full.name());
    const auto engine = open_engine(model, full, tokens);
    EXPECT_EQ(different_bits(all_logits(*engine, ids), expected), 0u);
    EXPECT_EQ(greedy(*engine, ids, 8), expected_ids);
  }
}

void expect_same_bits_on_every_plan(const std::string& model, int64_t tokens, KvType kv) {
  std::vector<Way> ways = kCuts;
  ways.insert(ways.end(), kWholePromptCuts.begin(), kWholePromptCuts.end());
  expect_same_bits(model, tokens, kv, ways);
}

// Two types run on every plan, and each other type on two plans in turn, because cuts do not depend on the type. The
// contract covers all types except F32 and BF16, which the NPU rounds to f16.
TEST(Contract, gives_one_result_on_gpu_npu_and_any_cut_between_them) {
  const auto golden = test_data("quant-models/golden.json");
  if (!golden) SKIP_FOR_WANT_OF(data, "no quant-models");
  SKIP_WHERE_SUMS_DIFFER(ActType::f16);
  const auto file = read_json(*golden);
  size_t turn = 0;
  for (const auto& [type, entry] : file.at("types").items()) {
    if (type == "BF16") continue;
    const std::string model = *test_data("quant-models/quant-" + type + ".gguf");
    if (type == "Q4_0" || type == "Q6_K") {
      expect_same_bits_on_every_plan(model, 33, KvType::f32);
    } else {
      expect_same_bits(model, 33, KvType::f32, {kCuts[turn % kCuts.size()], kCuts[(turn + 3) % kCuts.size()]});
      ++turn;
    }
  }
}

TEST(Contract, holds_for_the_default_model) {
  const auto model = default_model();
  if (!model) SKIP_FOR_WANT_OF(data, kNoDefaultModel);
  SKIP_WHERE_SUMS_DIFFER(ActType::f16);
  expect_same_bits_on_every_plan(*model, 70, KvType::f16);
}

TEST(Contract, pieces_of_a_prompt_of_the_default_model_give_the_bits_of_the_whole) {
  const auto model = default_model();
  if (!model) SKIP_FOR_WANT_OF(data, kNoDefaultModel);
  if (sums_differ(ActType::f16).empty())  // else the NPU's part of a longer piece has other bits
    expect_same_bits_in_pieces(*model, {"tensor", {0.5}, "simd", ActType::f16, KvType::f16}, 80);
  expect_same_bits_in_pieces(*model, {"gpu-only", {}, "simd", ActType::f32, KvType::f16}, 80);
}

}  // namespace
}  // namespace tandem::testing
