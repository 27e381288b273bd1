// Stacks: the packed matrices of experts and heads lie in their places, for every layout of the file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <tuple>

#include "engine/model/loading.h"
#include "engine/model/packed_file.h"
#include "engine/model/random_model.h"
#include "engine/model/shapes.h"
#include "sync/error.h"
#include "tests/engine/model/expert_files.h"
#include "tests/engine/model/file_rows.h"
#include "tests/engine/model/refused_files.h"
#include "tests/support/data.h"
#include "tests/support/scratch_folder.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace tandem::testing;

Rows transposed(const Rows& rows) {
  Rows columns(rows[0].size(), std::vector<float>(rows.size()));
  for (size_t i = 0; i < rows.size(); ++i)
    for (size_t k = 0; k < rows[i].size(); ++k) columns[k][i] = rows[i][k];
  return columns;
}

// The rows of one matrix of the stack, with all parts one below the other.
Rows stack_rows(const MatrixStack& stack, int64_t index) {
  Rows rows;
  for (const StackPart& part : stack.parts) {
    EXPECT_EQ(part.column_begin, static_cast<int64_t>(rows.size()));
    EXPECT_EQ(part.stack.count, stack.count);
    const PackedMatrix matrix = part.stack.matrix(index);
    EXPECT_EQ(matrix.columns, stack.columns);
    for (int64_t row = 0; row < matrix.rows; ++row) {
      rows.emplace_back(static_cast<size_t>(matrix.columns));
      decode_packed_row(matrix.format, matrix.data.as<std::byte>(), matrix.columns, row, rows.back().data());
    }
  }
  EXPECT_EQ(stack.rows, static_cast<int64_t>(rows.size()));
  return rows;
}

void expect_experts_of(const GgufFile& file, const Model& model) {
  const ExpertsConfig& experts = *model.config.experts;
  const int64_t H = model.config.hidden, I = experts.feed_forward;
  for (int64_t i = experts.dense_layers; i < model.config.layers; ++i) {
    const LayerWeights& layer = model.weights.layers[static_cast<size_t>(i)];
    const std::string at = "blk." + std::to_string(i) + ".";
    ASSERT_EQ(layer.expert_gate_up.count, experts.count);
    ASSERT_EQ(layer.expert_down.count, experts.count);
    for (int64_t e = 0; e < experts.count; ++e) {
      SCOPED_TRACE(at + "expert " + std::to_string(e));
      Rows gate_up = file_rows(file, at + "ffn_gate_exps.weight", e * I, I);
      const Rows up = file_rows(file, at + "ffn_up_exps.weight", e * I, I);
      gate_up.insert(gate_up.end(), up.begin(), up.end());
      EXPECT_EQ(stack_rows(layer.expert_gate_up, e), gate_up);
      EXPECT_EQ(stack_rows(layer.expert_down, e), file_rows(file, at + "ffn_down_exps.weight", e * H, H));
    }
  }
}

TEST(LoadStacks, packs_every_expert_of_every_storage_type) {
  using enum StorageType;
  for (const StorageType type : {f32, f16, bf16, q4_0, q8_0}) {
    SCOPED_TRACE(info(type).name);
    const auto bytes = expert_writer({}, {.feed_forward = 96, .gate = type, .up = type, .down = type}).bytes();
    const GgufFile file = GgufFile::parse(bytes, "tiny.gguf");
    for (const int threads : {1, 4}) {
      sync::Pool pool;
      const Model model = load_model(file, pool, threads);
      expect_experts_of(file, model);
      EXPECT_EQ(model.weights.layers[0].expert_gate_up.parts.size(), 1u);
      EXPECT_LE(model.weights.bytes, pool.mapped_bytes());
    }
  }
}

// 70 rows are not a whole panel, so the up rows begin inside one.
TEST(LoadStacks, packs_gate_and_up_of_any_number_of_rows_into_one_matrix) {
  const auto bytes = expert_writer({.hidden = 36, .heads = 6, .kv_heads = 3}, {.feed_forward = 70}).bytes();
  const GgufFile file = GgufFile::parse(bytes, "tiny.gguf");
  sync::Pool pool;
  expect_experts_of(file, load_model(file, pool, 2));
}

TEST(LoadStacks, packs_experts_of_many_jobs) {
  // An expert has 1600 gate and up rows of 1024 f32 values: seven jobs of a mebibyte.
  const auto bytes =
      expert_writer({.layers = 1, .hidden = 1024, .heads = 8}, {.count = 3, .feed_forward = 800}).bytes();
  const GgufFile file = GgufFile::parse(bytes, "tiny.gguf");
  sync::Pool pool;
  expect_experts_of(file, load_model(file, pool, 3));
}

TEST(LoadStacks, has_a_part_for_each_packed_format) {
  using enum StorageType;
  const auto bytes =
      expert_writer({.hidden = 256}, {.feed_forward = 96, .gate = q4_0, .up = q6_k, .down = f16}).bytes();
  const GgufFile file = GgufFile::parse(bytes, "tiny.gguf");
  sync::Pool pool;
  const Model model = load_model(file, pool, 2);
  expect_experts_of(file, model);
  const MatrixStack& gate_up = model.weights.layers[1].expert_gate_up;
  ASSERT_EQ(gate_up.parts.size(), 2u);
  EXPECT_EQ(gate_up.parts[0].stack.format, packed_format(q4_0));
  EXPECT_EQ(gate_up.parts[1].stack.format, packed_format(q6_k));
  EXPECT_EQ(gate_up.parts[1].column_begin, 96);
  EXPECT_EQ(gate_up.rows, 192);
  size_t bytes_of_parts = 0;
  for (const StackPart& part : gate_up.parts) bytes_of_parts += part.stack.bytes();
  EXPECT_EQ(gate_up.bytes(), bytes_of_parts);
}

ModelConfig small_latent() {
  ModelConfig config = model_shape("deepseek-v2-lite");
  config.layers = 2;
  config.hidden = 96;
  config.feed_forward = 64;
  config.vocabulary = 300;
  config.heads = 3;
  config.experts->count = 4;
  config.experts->used = 2;
  config.experts->feed_forward = config.experts->shared_feed_forward = 32;
  config.latent = {.rank = 64, .nope = 40, .rope = 8, .value = 24};
  config.head_dim = 72;
  config.head_dim_v = 64;
  config.rope.dim = 8;
  return config;
}

std::vector<std::byte> random_file(const ModelConfig& config, StorageType type) {
  std::vector<std::byte> bytes;
  RandomModel(config, type, 3).write([&](std::span<const std::byte> more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
  });
  return bytes;
}

TEST(LoadStacks, names_the_formats_of_experts_among_those_of_matrices) {
  const auto bytes = expert_writer({}, {.feed_forward = 96, .gate = StorageType::q8_0}).bytes();
  sync::Pool pool;
  const Model model = load_model(GgufFile::parse(bytes, "tiny.gguf"), pool, 2);
  EXPECT_THAT(matrix_formats(model.weights), ::testing::Contains(packed_format(StorageType::q8_0)).Times(2));
}

// Devices that round weights get no product with a stack. Only experts are taken out of their stacks.
TEST(LoadStacks, of_heads_have_formats_that_nobody_rounds) {
  const auto bytes = random_file(small_latent(), StorageType::q8_0);
  sync::Pool pool;
  const Model model = load_model(GgufFile::parse(bytes, "latent.gguf"), pool, 2);
  ASSERT_EQ(model.weights.layers[0].key_up.parts.at(0).stack.format, packed_format(StorageType::f32));
  EXPECT_THAT(matrix_formats(model.weights), ::testing::Not(::testing::Contains(packed_format(StorageType::f32))));
}

// The packed bytes of all experts' matrices, for every layout of the file.
std::vector<std::byte> packed_experts(const GgufFile& file) {
  sync::Pool pool;
  const Model model = load_model(file, pool, 2);
  std::vector<std::byte> all;
  for (const LayerWeights& layer : model.weights.layers) {
    for (const MatrixStack* stack : {&layer.expert_gate_up, &layer.expert_down}) {
      for (const StackPart& part : stack->parts) {
        const auto* begin = part.stack.data.as<std::byte>();
        all.insert(all.end(), begin, begin + part.stack.bytes());
      }
    }
  }
  return all;
}

TEST(LoadStacks, takes_experts_below_each_other_and_in_tensors_of_their_own_too) {
  const TinyExperts experts;
  GgufWriter writer = expert_writer({}, experts);
  const auto bytes = writer.bytes();
  const GgufFile file = GgufFile::parse(bytes, "tiny.gguf");
  GgufWriter below = writer, apart = writer;
  for (const char* layer : {"blk.0.", "blk.1."}) {
    for (const char* part : {"ffn_gate", "ffn_up", "ffn_down"}) {
      const std::string name = std::string(layer) + part;
      const GgufTensor& tensor = file.require(name + "_exps.weight");
      const std::vector<std::byte> all(tensor.data, tensor.data + tensor.bytes);
      below.tensor(tensor.name, {tensor.shape[0], tensor.shape[1] * experts.count}, tensor.type, all);
      apart.remove_tensor(tensor.name);
      const auto step = static_cast<int64_t>(tensor.bytes) / experts.count;
      for (int64_t e = 0; e < experts.count; ++e) {
        apart.tensor(name + "." + std::to_string(e) + ".weight", {tensor.shape[0], tensor.shape[1]}, tensor.type,
                     {all.begin() + e * step, all.begin() + (e + 1) * step});
      }
    }
  }
  const auto below_bytes = below.bytes(), apart_bytes = apart.bytes();
  const auto expected = packed_experts(file);
  EXPECT_EQ(packed_experts(GgufFile::parse(below_bytes, "below.gguf")), expected);
  EXPECT_EQ(packed_experts(GgufFile::parse(apart_bytes, "apart.gguf")), expected);
}

void add_floats(GgufWriter& writer, const std::string& name, const std::vector<float>& values) {
  const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
  writer.tensor(name, {std::ssize(values)}, StorageType::f32, {bytes, bytes + values.size() * sizeof(float)});
}

GgufWriter nvfp4_writer() {
  using enum StorageType;
  return expert_writer({}, {.feed_forward = 64, .gate = nvfp4, .up = nvfp4, .down = nvfp4});
}

// Columns and values of the factors of a stack.
std::vector<std::tuple<int64_t, int64_t, std::vector<float>>> factors_of(const MatrixStack& stack) {
  std::vector<std::tuple<int64_t, int64_t, std::vector<float>>> all;
  for (const ExpertFactors& each : stack.factors) {
    const float* values = each.factors.as<float>();
    all.emplace_back(each.column_begin, each.columns, std::vector<float>(values, values + stack.count));
  }
  return all;
}

// Each expert of the first layer has a tensor of its own, as in files of an older layout.
void give_each_a_tensor(GgufWriter& writer, const std::string& matrix) {
  writer.remove_tensor("blk.0." + matrix + "_exps.weight");
  for (int e = 0; e < 6; ++e)
    writer.tensor("blk.0." + matrix + "." + std::to_string(e) + ".weight", {64, 64}, StorageType::nvfp4,
                  std::vector<std::byte>(36 * 64));
}

TEST(LoadStacks, keeps_the_factors_of_nvfp4_experts_with_tensors_of_their_own) {
  const std::vector<float> some = {0.5f, 1, 0.3f, 2, 7, 0.1f}, others = {1, 1, 1, 1, 1, 0.9f};
  GgufWriter writer = nvfp4_writer();
  give_each_a_tensor(writer, "ffn_gate");
  give_each_a_tensor(writer, "ffn_up");
  for (int e = 0; e < 6; ++e) {
    const std::string number = std::to_string(e);
    add_floats(writer, "blk.0.ffn_gate." + number + ".scale", {some[static_cast<size_t>(e)]});
    add_floats(writer, "blk.0.ffn_up." + number + ".scale", {others[static_cast<size_t>(e)]});
    add_floats(writer, "blk.0.ffn_up." + number + ".input_scale", {3});
  }
  const auto bytes = writer.bytes();
  sync::Pool pool;
  const Model model = load_model(GgufFile::parse(bytes, "tiny.gguf"), pool, 2);
  EXPECT_THAT(factors_of(model.weights.layers[0].expert_gate_up),
              ElementsAre(std::tuple(0, 64, some), std::tuple(64, 64, others)));
}

// In the first layer gate and up have other factors, and the input's scale changes nothing. In the second one they have
// the same, and those of down are 1. A file without factors has no entries.
TEST(LoadStacks, keeps_the_factors_of_nvfp4_experts) {
  const std::vector<float> some = {0.5f, 1, 0.3f, 2, 7, 0.1f}, others = {1, 1, 1, 1, 1, 0.9f};
  GgufWriter writer = nvfp4_writer();
  const auto plain_bytes = writer.bytes();
  add_floats(writer, "blk.0.ffn_gate_exps.scale", some);
  add_floats(writer, "blk.0.ffn_up_exps.scale", others);
  add_floats(writer, "blk.0.ffn_up_exps.input_scale", some);
  add_floats(writer, "blk.0.ffn_down_exps.scale", others);
  add_floats(writer, "blk.1.ffn_gate_exps.scale", some);
  add_floats(writer, "blk.1.ffn_up_exps.scale", some);
  add_floats(writer, "blk.1.ffn_down_exps.scale", {1, 1, 1, 1, 1, 1});
  const auto bytes = writer.bytes();
  sync::Pool pool;
  const Model model = load_model(GgufFile::parse(bytes, "tiny.gguf"), pool, 2),
              plain = load_model(GgufFile::parse(plain_bytes, "tiny.gguf"), pool, 2);
  const auto& layers = model.weights.layers;
  EXPECT_THAT(factors_of(layers[0].expert_gate_up), ElementsAre(std::tuple(0, 64, some), std::tuple(64, 64, others)));
  EXPECT_THAT(factors_of(layers[0].expert_down), ElementsAre(std::tuple(0, 64, others)));
  EXPECT_THAT(factors_of(layers[1].expert_gate_up), ElementsAre(std::tuple(0, 128, some)));
  EXPECT_THAT(factors_of(layers[1].expert_down), ElementsAre());
  EXPECT_THAT(factors_of(plain.weights.layers[0].expert_gate_up), ElementsAre());
}

TEST(LoadStacks, refuses_factors_that_are_none) {
  const std::vector<Refusal> refusals = {
      {"one too few",
       [](auto& w) {
         add_floats(w, "blk.0.ffn_up_exps.scale", {1, 2, 3, 4, 5});
       },
       "found [5], expected [6]"},
      {"one for all", [](auto& w) { add_floats(w, "blk.0.ffn_up_exps.scale", {2}); }, "found [1], expected [6]"},
      {"halves",
       [](auto& w) { w.tensor("blk.0.ffn_up_exps.scale", {6}, StorageType::f16, std::vector<std::byte>(12)); },
       "a factor of type F16, expected F32"},
      {"infinite",
       [](auto& w) {
         add_floats(w, "blk.1.ffn_down_exps.scale", {1, 2, 3, 4, 5, INFINITY});
       },
       "a factor that is not a finite number"},
      {"of experts of another type",
       [](auto& w) {
         w.tensor("blk.1.ffn_down_exps.weight", {64, 64, 6}, StorageType::f16, std::vector<std::byte>(64 * 64 * 6 * 2));
         add_floats(w, "blk.1.ffn_down_exps.scale", {1, 2, 3, 4, 5, 6});
       },
       "which is computed for NVFP4 alone"},
      {"of one of several experts with tensors of their own",
       [](auto& w) {
         give_each_a_tensor(w, "ffn_up");
         add_floats(w, "blk.0.ffn_up.3.scale", {2});
       },
       "factors of some experts and none of others"},
  };
  expect_refused(refusals, nvfp4_writer, load_all);
}

TEST(LoadStacks, refuses_missing_and_misshapen_experts_before_it_takes_memory) {
  const auto f32 = [](GgufWriter& w, const char* name, std::vector<int64_t> shape) {
    size_t bytes = sizeof(float);
    for (const int64_t extent : shape) bytes *= static_cast<size_t>(extent);
    w.tensor(name, std::move(shape), StorageType::f32, std::vector<std::byte>(bytes));
  };
  const std::vector<Refusal> refusals = {
      {"an expert too few",
       [&](auto& w) {
         f32(w, "blk.1.ffn_up_exps.weight", {64, 70, 5});
       },
       "found [64, 70, 5], expected [64, 70, 6]"},
      {"an expert too many",
       [&](auto& w) {
         f32(w, "blk.0.ffn_down_exps.weight", {70, 64, 7});
       },
       "found [70, 64, 7], expected [70, 64, 6]"},
      {"too few below each other",
       [&](auto& w) {
         f32(w, "blk.0.ffn_down_exps.weight", {70, 64 * 5});
       },
       "found [70, 320], expected [70, 384]"},
      {"transposed",
       [&](auto& w) {
         f32(w, "blk.0.ffn_down_exps.weight", {64, 70, 6});
       },
       "found [64, 70, 6], expected [70, 64, 6]"},
      {"no gate", [](auto& w) { w.remove_tensor("blk.1.ffn_gate_exps.weight"); }, "'blk.1.ffn_gate_exps.weight'"},
      {"no router", [](auto& w) { w.remove_tensor("blk.0.ffn_gate_inp.weight"); }, "'blk.0.ffn_gate_inp.weight'"},
      {"a router of others",
       [&](auto& w) {
         f32(w, "blk.0.ffn_gate_inp.weight", {64, 8});
       },
       "found [64, 8], expected [64, 6]"},
      {"a bias of the router", [&](auto& w) { f32(w, "blk.0.exp_probs_b.bias", {6}); }, "'blk.0.exp_probs_b.bias'"},
      {"one of several tensors is missing",
       [&](auto& w) {
         w.remove_tensor("blk.0.ffn_up_exps.weight");
         for (const char* e : {"0", "1", "2", "4", "5"})
           f32(w, (std::string("blk.0.ffn_up.") + e + ".weight").c_str(), {64, 70});
       },
       "'blk.0.ffn_up.3.weight'"},
      {"one of several tensors is of another type",
       [&](auto& w) {
         w.remove_tensor("blk.0.ffn_up_exps.weight");
         for (const char* e : {"0", "1", "2", "3", "4", "5"})
           f32(w, (std::string("blk.0.ffn_up.") + e + ".weight").c_str(), {64, 70});
         w.tensor("blk.0.ffn_up.4.weight", {64, 70}, StorageType::f16, std::vector<std::byte>(64 * 70 * 2));
       },
       "type F16, expected F32 as those of the other experts"},
      {"dense layers beside",
       [&](auto& w) {
         f32(w, "blk.0.ffn_up.weight", {64, 96});
       },
       "does not know"},
  };
  expect_refused(
      refusals, [] { return expert_writer({}, {}); }, load_all);
}

TEST(LoadStacks, of_the_test_models_are_those_of_the_file) {
  for (const char* name : {"mixtral", "qwen2moe", "qwen3moe", "olmoe", "phimoe", "deepseek", "deepseek2"}) {
    SCOPED_TRACE(name);
    const auto path = larger_data(std::string("arch-models/") + name + "-F32.gguf");
    if (!path) continue;
    const GgufFile file = GgufFile::open(*path);
    sync::Pool pool;
    expect_experts_of(file, load_model(file, pool, 2));
  }
}

TEST(LoadStacks, of_a_trained_model_are_those_of_the_file) {
  for (const char* type : {"F16", "Q8_0", "Q4_0"}) {
    SCOPED_TRACE(type);
    const auto path = larger_data(std::string("moe-mix/moe-mix-") + type + ".gguf");
    if (!path) continue;
    const GgufFile file = GgufFile::open(*path);
    sync::Pool pool;
    expect_experts_of(file, load_model(file, pool, 2));
  }
}

// The key rows of a head are the columns of its key_up. The value rows behind them are its value_up.
void expect_latents_of(const GgufFile& file, const Model& model) {
  const LatentConfig& latent = *model.config.latent;
  const int64_t pitch = latent.nope + latent.value;
  for (int64_t i = 0; i < model.config.layers; ++i) {
    const LayerWeights& layer = model.weights.layers[static_cast<size_t>(i)];
    const std::string name = "blk." + std::to_string(i) + ".attn_kv_b.weight";
    ASSERT_EQ(layer.key_up.count, model.config.heads);
    for (int64_t head = 0; head < model.config.heads; ++head) {
      SCOPED_TRACE(name + " head " + std::to_string(head));
      EXPECT_EQ(stack_rows(layer.key_up, head), transposed(file_rows(file, name, head * pitch, latent.nope)));
      EXPECT_EQ(stack_rows(layer.value_up, head), file_rows(file, name, head * pitch + latent.nope, latent.value));
    }
  }
}

TEST(LoadStacks, transposes_the_matrices_of_keys) {
  using enum StorageType;
  struct Case {
    StorageType type, packed;
  };
  for (const Case& one : {Case{f32, f32}, {f16, f16}, {bf16, bf16}, {q8_0, f32}, {q4_0, f32}, {q5_1, f32}}) {
    SCOPED_TRACE(info(one.type).name);
    const auto bytes = random_file(small_latent(), one.type);
    const GgufFile file = GgufFile::parse(bytes, "latent.gguf");
    ASSERT_EQ(file.require("blk.0.attn_kv_b.weight").type, one.type);
    sync::Pool pool;
    const Model model = load_model(file, pool, 2);
    expect_latents_of(file, model);
    EXPECT_EQ(model.weights.layers[0].key_up.parts.at(0).stack.format, packed_format(one.packed));
    EXPECT_EQ(model.weights.layers[0].value_up.parts.at(0).stack.format, packed_format(one.type));
  }
}

TEST(LoadStacks, makes_the_same_of_both_layouts_of_latent_attention) {
  const auto joined_path = larger_data("arch-models/deepseek2-F32.gguf");
  const auto apart_path = larger_data("arch-models/deepseek2-mla-F32.gguf");
  if (!joined_path || !apart_path) SKIP_FOR_WANT_OF(data, "no deepseek2-mla");
  const GgufFile joined_file = GgufFile::open(*joined_path), apart_file = GgufFile::open(*apart_path);
  sync::Pool pool;
  const Model joined = load_model(joined_file, pool, 2), apart = load_model(apart_file, pool, 2);
  expect_latents_of(joined_file, joined);
  for (size_t i = 0; i < 3; ++i) {
    const LayerWeights &one = joined.weights.layers[i], &other = apart.weights.layers[i];
    for (int64_t head = 0; head < 4; ++head) {
      EXPECT_EQ(stack_rows(one.key_up, head), stack_rows(other.key_up, head));
      EXPECT_EQ(stack_rows(one.value_up, head), stack_rows(other.value_up, head));
    }
  }
}

TEST(LoadStacks, keeps_their_places_in_a_file_of_packed_weights) {
  const ScratchFolder folder;
  const std::string path = folder.file("weights.packed"), model_path = folder.file("tiny.gguf");
  write_file(model_path, expert_writer({}, {.feed_forward = 96, .gate = StorageType::q4_0}).bytes());
  const GgufFile file = GgufFile::open(model_path);
  sync::Pool pool, unused, mapped;
  const Model model = load_model(file, pool, 2);
  const std::vector<size_t> slots = ModelLoading(file, unused).slot_bytes();
  PackedFileWriter out(path, file.identity().value(), slots);
  for (const sync::Slot* slot : model.weights.slots) out.write({slot->data(), slot->size_bytes()});
  out.commit();
  std::string why;
  auto packed = PackedFile::open(path, file.identity().value(), slots, why);
  ASSERT_TRUE(packed) << why;
  ModelLoading loading(file, mapped);
  loading.take(*packed, PackedUse::mapped);
  const Model taken = loading.finish(1);
  expect_experts_of(file, taken);
  EXPECT_EQ(taken.weights.bytes, model.weights.bytes);
}

}  // namespace
}  // namespace tandem
