// Dense files converted to mixtures of experts: the new file holds the content of the old one, dealt over experts.
// tests/engine/run/converted_models_test.cpp tests what such models compute.
#include "engine/model/moe_conversion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "engine/model/loading.h"
#include "engine/model/random_model.h"
#include "engine/model/shapes.h"
#include "sync/error.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/scratch_folder.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

template <typename Written>
std::vector<std::byte> bytes_of(const Written& model) {
  std::vector<std::byte> bytes;
  model.write([&](std::span<const std::byte> more) {
    EXPECT_LE(more.size(), size_t{1} << 20);
    bytes.insert(bytes.end(), more.begin(), more.end());
  });
  EXPECT_EQ(bytes.size(), model.file_bytes());
  return bytes;
}

constexpr int64_t kHidden = 256, kWidth = 1536;

std::vector<std::byte> dense_bytes(StorageType type, const std::string& architecture = "llama",
                                   int64_t width = kWidth) {
  const std::string shape = R"({"schema": 1, "architecture": ")" + architecture + R"(", "layers": 2, "hidden": 256,
                               "feed_forward": )" +
                            std::to_string(width) + R"(, "heads": 2, "vocabulary": 300, "context_length": 64})";
  std::vector<std::byte> bytes;
  RandomModel(parse_shape(shape, "dense"), type, 3).write([&](std::span<const std::byte> more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
  });
  return bytes;
}

std::vector<float> values_of(const GgufFile& file, const std::string& name) {
  const GgufTensor& tensor = file.require(name);
  int64_t count = 1;
  for (const int64_t extent : tensor.shape) count *= extent;
  std::vector<float> values(static_cast<size_t>(count));
  decode_row(tensor.type, tensor.data, values.data(), count);
  return values;
}

std::vector<std::byte> content_of(const GgufTensor& tensor) { return {tensor.data, tensor.data + tensor.bytes}; }

std::string failure_of(const std::vector<std::byte>& bytes, const MoeShape& shape) {
  const GgufFile file = GgufFile::parse(bytes, "model.gguf");
  try {
    bytes_of(MoeConversion(file, shape));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// For down the values are compared: those of expert e are the values of its columns, times k, to the bit.
TEST(MoeConversion, splits_networks_of_every_storage_type) {
  constexpr size_t E = 3, k = 2, I = kWidth / E, H = kHidden;
  for (const StorageTypeInfo& type : storage_types()) {
    SCOPED_TRACE(type.name);
    const auto before_bytes = dense_bytes(type.type);
    const GgufFile before = GgufFile::parse(before_bytes, "dense");
    const auto bytes = bytes_of(MoeConversion(before, {E, k, ExpertKind::split}));
    const GgufFile file = GgufFile::parse(bytes, "mixture");
    for (const std::string layer : {"blk.0.", "blk.1."}) {
      for (const std::string name : {"ffn_gate", "ffn_up"}) {
        const GgufTensor& experts = file.require(layer + name + "_exps.weight");
        EXPECT_EQ(experts.type, type.type);
        EXPECT_THAT(experts.shape, ElementsAre(H, I, E));
        EXPECT_EQ(content_of(experts), content_of(before.require(layer + name + ".weight")));
      }
      EXPECT_EQ(file.require(layer + "ffn_down_exps.weight").type, type.type);
      EXPECT_THAT(file.require(layer + "ffn_down_exps.weight").shape, ElementsAre(I, H, E));
      const std::vector<float> down = values_of(before, layer + "ffn_down.weight"),
                               experts = values_of(file, layer + "ffn_down_exps.weight");
      for (size_t e = 0; e < E; ++e)
        for (size_t h = 0; h < H; ++h)
          for (size_t i = 0; i < I; ++i)
            ASSERT_EQ(experts[(e * H + h) * I + i], k * down[h * kWidth + e * I + i]) << e << " " << h << " " << i;
    }
  }
}

TEST(MoeConversion, clones_networks_byte_for_byte) {
  const auto before_bytes = dense_bytes(StorageType::q4_k);
  const GgufFile before = GgufFile::parse(before_bytes, "dense");
  const auto bytes = bytes_of(MoeConversion(before, {5, 3, ExpertKind::cloned}));  // 5 divides no width
  const GgufFile file = GgufFile::parse(bytes, "mixture");
  EXPECT_THAT(file.require("blk.1.ffn_gate_exps.weight").shape, ElementsAre(kHidden, kWidth, 5));
  for (const std::string name : {"ffn_gate", "ffn_up", "ffn_down"}) {
    std::vector<std::byte> five;
    const auto one = content_of(before.require("blk.1." + name + ".weight"));
    for (int i = 0; i < 5; ++i) five.insert(five.end(), one.begin(), one.end());
    EXPECT_EQ(content_of(file.require("blk.1." + name + "_exps.weight")), five);
  }
}

TEST(MoeConversion, keeps_everything_else) {
  GgufWriter writer = testing::tiny_writer({.output_bias = true, .frequency_factors = std::vector(8, 2.0f)});
  writer.set("general.alignment", uint32_t{128}).set("of.nobody", std::vector<std::string>{"a", "b"});
  writer.set("llama.expert_count", uint16_t{0});
  writer.alignment = 128;
  const auto before_bytes = writer.bytes();
  const GgufFile before = GgufFile::parse(before_bytes, "dense");
  const auto bytes = bytes_of(MoeConversion(before, {3, 2, ExpertKind::split}));
  const GgufFile file = GgufFile::parse(bytes, "mixture");
  for (const std::string& key : before.keys()) {
    if (key == "llama.feed_forward_length" || key == "llama.expert_count") continue;
    const GgufStored was = before.require_stored(key), is = file.require_stored(key);
    EXPECT_EQ(is.type, was.type) << key;
    EXPECT_TRUE(std::ranges::equal(is.bytes, was.bytes)) << key;
  }
  EXPECT_EQ(file.keys().size(), before.keys().size() + 2) << "the experts' used count and their width";
  EXPECT_EQ(file.get_uint("llama.feed_forward_length"), 32u);
  size_t kept = 0;
  for (const GgufTensor& tensor : before.tensors()) {
    const GgufTensor* found = file.find(tensor.name);
    if (found == nullptr) continue;
    ++kept;
    EXPECT_EQ(found->shape, tensor.shape);
    EXPECT_EQ(found->type, tensor.type);
    EXPECT_EQ(content_of(*found), content_of(tensor)) << tensor.name;
  }
  EXPECT_EQ(kept, before.tensors().size() - 2 * 3);
  EXPECT_EQ(file.tensors().size(), before.tensors().size() + 2) << "a router for each layer";
}

TEST(MoeConversion, is_read_as_a_mixture_and_loads) {
  for (const std::string architecture : {"llama", "qwen3"}) {
    for (const ExpertKind kind : {ExpertKind::split, ExpertKind::cloned}) {
      SCOPED_TRACE(architecture);
      const auto before_bytes = dense_bytes(StorageType::q4_0, architecture);
      const GgufFile before = GgufFile::parse(before_bytes, "dense");
      const MoeConversion conversion(before, {16, 4, kind});
      const auto bytes = bytes_of(conversion);
      const GgufFile file = GgufFile::parse(bytes, "mixture");
      const ModelConfig config = read_config(file);
      EXPECT_EQ(config.architecture, architecture == "llama" ? "llama" : "qwen3moe");
      EXPECT_EQ(conversion.architecture(), config.architecture);
      ASSERT_TRUE(config.experts);
      EXPECT_EQ(config.experts->count, 16);
      EXPECT_EQ(config.experts->used, 4);
      EXPECT_EQ(config.experts->feed_forward, kind == ExpertKind::split ? 96 : 1536);
      EXPECT_EQ(config.experts->feed_forward, conversion.width());
      EXPECT_TRUE(config.experts->normalised);
      EXPECT_EQ(config.name, conversion.dense().name);
      sync::Pool pool;
      EXPECT_EQ(load_model(file, pool, 2).weights.layers[1].expert_down.count, 16);
    }
  }
}

TEST(MoeConversion, has_zeros_for_routers_until_they_are_set) {
  const auto before_bytes = dense_bytes(StorageType::q8_0);
  const GgufFile before = GgufFile::parse(before_bytes, "dense");
  MoeConversion conversion(before, {2, 1, ExpertKind::split});
  std::vector<float> router(2 * kHidden);
  for (size_t i = 0; i < router.size(); ++i) router[i] = static_cast<float>(i);
  conversion.set_router(1, router);
  EXPECT_THROW(conversion.set_router(0, {1, 2, 3}), Error);
  const auto bytes = bytes_of(conversion);
  const GgufFile file = GgufFile::parse(bytes, "mixture");
  EXPECT_THAT(file.require("blk.1.ffn_gate_inp.weight").shape, ElementsAre(kHidden, 2));
  EXPECT_EQ(file.require("blk.1.ffn_gate_inp.weight").type, StorageType::f32);
  EXPECT_EQ(values_of(file, "blk.1.ffn_gate_inp.weight"), router);
  EXPECT_EQ(values_of(file, "blk.0.ffn_gate_inp.weight"), std::vector<float>(2 * kHidden));
}

TEST(MoeConversion, says_where_scales_are_rounded_and_refuses_what_they_cannot_hold) {
  const auto bytes = dense_bytes(StorageType::q8_0);
  const GgufFile file = GgufFile::parse(bytes, "dense");
  EXPECT_FALSE(MoeConversion(file, {4, 2, ExpertKind::split}).rounds());
  EXPECT_TRUE(MoeConversion(file, {4, 3, ExpertKind::split}).rounds());
  EXPECT_FALSE(MoeConversion(file, {4, 3, ExpertKind::cloned}).rounds());

  GgufWriter writer = testing::tiny_writer({.type = StorageType::f16});
  std::vector<std::byte> down(96 * 64 * 2);
  const uint16_t large = float_to_half(40000);
  std::memcpy(down.data() + down.size() - 2, &large, sizeof large);
  writer.tensor("blk.1.ffn_down.weight", {96, 64}, StorageType::f16, down);
  const std::string failure = failure_of(writer.bytes(), {4, 2, ExpertKind::split});
  EXPECT_THAT(failure, HasSubstr("blk.1.ffn_down.weight"));
  EXPECT_THAT(failure, HasSubstr("fewer experts"));
  EXPECT_EQ(failure_of(writer.bytes(), {4, 1, ExpertKind::split}), "");
  EXPECT_EQ(failure_of(writer.bytes(), {4, 2, ExpertKind::cloned}), "");
}

TEST(MoeConversion, names_the_numbers_of_experts_that_work) {
  const auto legacy = dense_bytes(StorageType::q4_0), super = dense_bytes(StorageType::q4_k);
  EXPECT_THAT(failure_of(legacy, {5, 2}), HasSubstr("Numbers of experts that work: 2, 3, 4, 6, 8, 12, 16, 24, 48"));
  EXPECT_THAT(failure_of(super, {4, 2}), HasSubstr("work: 2, 3, 6")) << "1536 / 4 is no multiple of 256";
  EXPECT_THAT(failure_of(dense_bytes(StorageType::q8_0, "llama", 32), {2, 2}), HasSubstr("cloned only"));
}

TEST(MoeConversion, refuses_what_is_no_mixture) {
  const auto dense = dense_bytes(StorageType::q8_0);
  EXPECT_THAT(failure_of(dense, {1, 1}), HasSubstr("2 to 4096"));
  EXPECT_THAT(failure_of(dense, {4097, 1, ExpertKind::cloned}), HasSubstr("2 to 4096"));
  EXPECT_THAT(failure_of(dense, {4, 5}), HasSubstr("expected 1 to 4"));
  EXPECT_THAT(failure_of(dense, {4, 0}), HasSubstr("expected 1 to 4"));
  EXPECT_THAT(failure_of(dense, {96, 65, ExpertKind::cloned}), HasSubstr("expected 1 to 64"));
  const GgufFile file = GgufFile::parse(dense, "dense");
  EXPECT_THAT(failure_of(bytes_of(MoeConversion(file, {4, 2})), {4, 2}), HasSubstr("has experts already"));
  const std::string other = failure_of(dense_bytes(StorageType::q8_0, "gemma3"), {4, 2});
  EXPECT_THAT(other, HasSubstr("gemma3"));
  EXPECT_THAT(other, HasSubstr("llama, qwen3"));
  GgufWriter writer = testing::tiny_writer({});
  EXPECT_THAT(failure_of(GgufWriter(writer).remove_tensor("blk.1.ffn_up.weight").bytes(), {4, 2}),
              HasSubstr("blk.1.ffn_up.weight"));
  writer.tensor("blk.1.ffn_up.weight", {64, 95}, StorageType::f32, std::vector<std::byte>(64 * 95 * 4));
  EXPECT_THAT(failure_of(writer.bytes(), {4, 2}), HasSubstr("expected [64, 96]"));
}

TEST(MoeConversion, of_a_split_model_is_one_file) {
  const testing::ScratchFolder folder;
  GgufWriter first = testing::tiny_writer({}), second;
  const auto whole_bytes = first.bytes();
  const GgufFile whole = GgufFile::parse(whole_bytes, "whole");
  const auto tensors = static_cast<int32_t>(whole.tensors().size());
  const GgufTensor& down = whole.require("blk.1.ffn_down.weight");
  second.tensor(down.name, down.shape, down.type, content_of(down));
  first.remove_tensor(down.name);
  for (auto* part : {&first, &second}) {
    const bool is_first = part == &first;
    part->set("split.no", static_cast<uint16_t>(is_first ? 0 : 1)).set("split.count", uint16_t{2});
    part->set("split.tensors.count", tensors);
    testing::write_file(folder.file(is_first ? "m-00001-of-00002.gguf" : "m-00002-of-00002.gguf"), part->bytes());
  }
  const GgufFile parts = GgufFile::open(folder.file("m-00001-of-00002.gguf"));
  const auto bytes = bytes_of(MoeConversion(parts, {4, 2}));
  const GgufFile file = GgufFile::parse(bytes, "mixture");
  EXPECT_THAT(file.keys(), Not(::testing::Contains(::testing::StartsWith("split."))));
  EXPECT_EQ(file.require("blk.1.ffn_down_exps.weight").shape, (std::vector<int64_t>{24, 64, 4}));
}

}  // namespace
}  // namespace tandem
