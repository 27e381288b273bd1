// --act i8 for whole models: every device, plan, cut and piece gives one result. The engine names reasons for
// other bits.
#include <gmock/gmock.h>

#include "tests/engine/run/golden.h"
#include "tests/support/data.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/small_shape.h"

namespace tandem::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

Way with_i8(Way way) {
  way.act = ActType::i8;
  if (way.plan != "host-only") way.family = "simd";
  return way;
}

// The logits of a prompt in pieces of `chunk` tokens.
std::vector<float> logits_in_pieces(const std::string& model, const Way& way, std::span<const int32_t> ids,
                                    int64_t chunk) {
  const auto engine = open_engine(model, way, chunk);
  return all_logits(*engine, ids);
}

void expect_one_result(const std::string& model, int64_t tokens, const std::vector<Way>& ways) {
  const auto host = open_engine(model, with_i8({"host-only", {}}), tokens);
  const auto ids = some_ids(host->model().config().vocabulary, tokens);
  const auto expected = all_logits(*host, ids);
  const auto expected_ids = greedy(*host, ids, 6);
  const auto exact = open_engine(model, {"host-only", {}, "", ActType::f32}, tokens);
  EXPECT_GT(different_bits(all_logits(*exact, ids), expected), 0U) << "--act i8 changes nothing";
  for (const Way& way : ways) {
    SCOPED_TRACE(model.substr(model.rfind('/') + 1) + " " + way.name());
    const auto engine = open_engine(model, with_i8(way), tokens);
    EXPECT_EQ(different_bits(all_logits(*engine, ids), expected), 0U);
    EXPECT_EQ(greedy(*engine, ids, 6), expected_ids);
  }
  for (const int64_t chunk : {1, 7})
    EXPECT_EQ(different_bits(logits_in_pieces(model, with_i8({"host-only", {}}), ids, chunk), expected), 0U) << chunk;
}

const std::vector<Way> kWays = {Way{"gpu-only", {}}, Way{"npu-only", {}}, Way{"tensor", {0.5}}};

// A published shape with few layers and words, and random weights.
std::string small_model(const ScratchFolder& folder, const std::string& shape, StorageType type) {
  const std::string path = folder.file(shape + info(type).name + ".gguf");
  write_file(path, test::bytes_of(RandomModel(test::small_shape(shape), type, 1)));
  return path;
}

TEST(ActI8, gives_one_result_on_gpu_npu_host_and_any_cut_between_them) {
  SKIP_WHERE_SUMS_DIFFER(ActType::i8);
  const ScratchFolder folder;
  for (const StorageType type : {StorageType::q4_0, StorageType::q6_k})
    expect_one_result(small_model(folder, "llama-3.2-1b", type), 33,
                      {Way{"gpu-only", {}}, Way{"npu-only", {}}, Way{"tensor", {0.5}}, Way{"sequence", {}}});
}

TEST(ActI8, gives_one_result_of_experts_and_of_latents) {
  SKIP_WHERE_SUMS_DIFFER(ActType::i8);
  const ScratchFolder folder;
  for (const char* shape : {"qwen1.5-moe-a2.7b", "deepseek-v2-lite"})
    expect_one_result(small_model(folder, shape, StorageType::q8_0), 17, {Way{"gpu-only", {}}, Way{"tensor", {0.5}}});
}

// Each model has an F16 matrix. An NPU rounds the inputs of that matrix, and the engine says so.
TEST(ActI8, gives_one_result_of_models_of_many_types_where_no_npu_takes_part) {
  SKIP_WHERE_SUMS_DIFFER(ActType::i8);
  for (const char* name : {"mixed-models/first.gguf", "mixed-models/second.gguf"}) {
    const std::string model = repository_data(name);
    expect_one_result(model, 33, {Way{"gpu-only", {}}});
    const auto npu = open_engine(model, with_i8({"npu-only", {}}), 9);
    EXPECT_THAT(npu->contract().other_bits, Contains(HasSubstr("npu:0 rounds activations to f16")));
    EXPECT_THAT(npu->diagnostics(), Contains(HasSubstr("--act i8: 1 of ")));
  }
}

TEST(ActI8, gives_one_result_with_weights_of_every_storage_type) {
  SKIP_WHERE_SUMS_DIFFER(ActType::i8);
  const auto golden = test_data("quant-models/golden.json");
  if (!golden) SKIP_FOR_WANT_OF(data, "no quant-models");
  const auto file = read_json(*golden);
  size_t turn = 0;  // each type on one plan: the suites of devices multiply every type on every device
  for (const auto& [type, entry] : file.at("types").items()) {
    if (type == "BF16" || type == "F16" || type == "F32") continue;
    expect_one_result(*test_data("quant-models/quant-" + type + ".gguf"), 19, {kWays[turn++ % kWays.size()]});
  }
}

TEST(ActI8, gives_one_result_of_a_mixture_of_experts) {
  SKIP_WHERE_SUMS_DIFFER(ActType::i8);
  const auto model = test_data("moe-mix/moe-mix-Q4_0.gguf");
  if (!model) SKIP_FOR_WANT_OF(data, "no moe-mix");
  expect_one_result(*model, 21, {Way{"gpu-only", {}}, Way{"tensor", {0.5}}});
}

TEST(ActI8, keeps_f32_activations_beside_weights_without_integers_and_says_so) {
  const std::string model = repository_data("tiny-models/stories260K-F16.gguf");
  const auto i8 = open_engine(model, with_i8({"host-only", {}}), 9), f32 = open_engine(model, {"host-only", {}}, 9);
  EXPECT_THAT(i8->diagnostics(), Contains(HasSubstr("all matrices are F16, BF16 or F32")));
  const auto ids = some_ids(f32->model().config().vocabulary, 9);
  EXPECT_EQ(different_bits(all_logits(*i8, ids), all_logits(*f32, ids)), 0U);
}

TEST(ActI8, has_no_reason_for_other_bits_where_all_weights_are_integers) {
  SKIP_WHERE_SUMS_DIFFER(ActType::i8);
  const auto golden = test_data("quant-models/golden.json");
  if (!golden) SKIP_FOR_WANT_OF(data, "no quant-models");
  const auto engine = open_engine(*test_data("quant-models/quant-Q8_0.gguf"), with_i8({"npu-only", {}}), 9);
  EXPECT_THAT(engine->contract().other_bits, ::testing::IsEmpty());
  EXPECT_THAT(engine->diagnostics(), Not(Contains(HasSubstr("--act i8"))));
}

// Only Vulkan's plans are compared with each other, because lavapipe's fma rounds twice.
TEST(ActI8, pieces_of_a_prompt_give_the_bits_of_the_whole_on_vulkan) {
  const Way way = with_i8({"gpu-only", {}, "simd", {}, KvType::f32, false, "predict", {"vulkan:0"}});
  need_devices(way);
  if (IsSkipped()) return;
  const std::string model = repository_data("mixed-models/first.gguf");
  const auto ids = some_ids(open_engine(model, with_i8({"host-only", {}}), 1)->model().config().vocabulary, 23);
  const auto whole = logits_in_pieces(model, way, ids, 23);
  EXPECT_EQ(different_bits(logits_in_pieces(model, way, ids, 5), whole), 0U);
}

}  // namespace
}  // namespace tandem::testing
