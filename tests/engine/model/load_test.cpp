#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <random>
#include <set>
#include <stdexcept>

#include "engine/model/loading.h"
#include "engine/model/weights.h"
#include "sync/error.h"
#include "tests/engine/model/file_rows.h"
#include "tests/engine/model/refused_files.h"
#include "tests/support/data.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/requirements.h"
#include "tests/support/resident.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/small_shape.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace tandem::testing;

// The rows of these tensors from the file, decoded, one below the other.
std::vector<float> file_values(const GgufFile& file, const std::vector<std::string>& names) {
  std::vector<float> all;
  for (const std::string& name : names) {
    const GgufTensor& tensor = file.require(name);
    const int64_t rows = static_cast<int64_t>(tensor.bytes / row_bytes(tensor.type, tensor.shape[0]));
    for (const std::vector<float>& row : file_rows(file, name, 0, rows)) all.insert(all.end(), row.begin(), row.end());
  }
  return all;
}

std::vector<float> packed_rows(const PackedMatrix& matrix) {
  std::vector<float> all(static_cast<size_t>(matrix.rows * matrix.columns));
  for (int64_t row = 0; row < matrix.rows; ++row) {
    decode_packed_row(matrix.format, matrix.data.as<std::byte>(), matrix.columns, row,
                      all.data() + row * matrix.columns);
  }
  return all;
}

std::vector<float> group_rows(const MatrixGroup& group) {
  std::vector<float> all;
  for (const MatrixPart& part : group.parts) {
    EXPECT_EQ(part.column_begin * group.columns, static_cast<int64_t>(all.size()));
    const std::vector<float> rows = packed_rows(part.matrix);
    all.insert(all.end(), rows.begin(), rows.end());
  }
  EXPECT_EQ(group.rows * group.columns, static_cast<int64_t>(all.size()));
  return all;
}

std::vector<float> values(const Operand& vector, int64_t length) {
  return {vector.as<float>(), vector.as<float>() + length};
}

// Compares every packed weight, norm and bias of the model with the decoded tensors of the file.
void expect_weights_of(const GgufFile& file, const Model& model) {
  const ModelConfig& config = model.config;
  EXPECT_EQ(packed_rows(model.weights.embedding), file_values(file, {"token_embd.weight"}));
  for (int64_t i = 0; i < config.layers; ++i) {
    SCOPED_TRACE(i);
    const LayerWeights& layer = model.weights.layers[static_cast<size_t>(i)];
    const std::string at = "blk." + std::to_string(i) + ".";
    EXPECT_EQ(group_rows(layer.qkv),
              file_values(file, {at + "attn_q.weight", at + "attn_k.weight", at + "attn_v.weight"}));
    EXPECT_EQ(group_rows(layer.attention_output), file_values(file, {at + "attn_output.weight"}));
    EXPECT_EQ(group_rows(layer.gate_up), file_values(file, {at + "ffn_gate.weight", at + "ffn_up.weight"}));
    EXPECT_EQ(group_rows(layer.down), file_values(file, {at + "ffn_down.weight"}));
    EXPECT_EQ(values(layer.attention_norm, config.hidden), file_values(file, {at + "attn_norm.weight"}));
    EXPECT_EQ(values(layer.ffn_norm, config.hidden), file_values(file, {at + "ffn_norm.weight"}));
    EXPECT_EQ(static_cast<bool>(layer.qkv.bias), config.qkv_bias);
    if (config.qkv_bias) {
      EXPECT_EQ(values(layer.qkv.bias, layer.qkv.rows),
                file_values(file, {at + "attn_q.bias", at + "attn_k.bias", at + "attn_v.bias"}));
    }
    if (config.output_bias) {
      EXPECT_EQ(values(layer.attention_output.bias, config.hidden), file_values(file, {at + "attn_output.bias"}));
    }
    EXPECT_EQ(static_cast<bool>(layer.q_norm), config.qk_norm);
    if (config.qk_norm) {
      EXPECT_EQ(values(layer.q_norm, config.head_dim), file_values(file, {at + "attn_q_norm.weight"}));
      EXPECT_EQ(values(layer.k_norm, config.head_dim), file_values(file, {at + "attn_k_norm.weight"}));
    }
  }
  EXPECT_EQ(values(model.weights.output_norm, config.hidden), file_values(file, {"output_norm.weight"}));
  EXPECT_EQ(group_rows(model.weights.output),
            file_values(file, {config.tied_output ? "token_embd.weight" : "output.weight"}));
}

// Loading joins neighbours of one format, so numbers of matrices differ.
void expect_the_formats_of(const GgufFile& file, const Model& model) {
  const std::vector<PackedFormat> loaded = matrix_formats(model.weights), named = matrix_formats(file, model.config);
  for (const PackedFormat& format : loaded) EXPECT_THAT(named, ::testing::Contains(format));
  for (const PackedFormat& format : named) EXPECT_THAT(loaded, ::testing::Contains(format));
}

TEST(LoadModel, packs_every_weight_of_every_architecture_at_its_place) {
  const TinyModel models[] = {
      {.hidden = 36, .feed_forward = 70, .heads = 6, .kv_heads = 3, .vocabulary = 77, .output_bias = true},
      {.architecture = "internlm2", .type = StorageType::f16},
      {.architecture = "qwen2", .vocabulary = 300, .type = StorageType::bf16, .tied_output = true, .qkv_bias = true},
      {.architecture = "qwen3", .heads = 2, .kv_heads = 1, .head_dim = 48, .qk_norm = true},
  };
  for (const TinyModel& tiny : models) {
    SCOPED_TRACE(tiny.architecture);
    const auto bytes = write_gguf(tiny);
    const GgufFile file = GgufFile::parse(bytes, "tiny.gguf");
    for (int threads : {1, 4}) {
      sync::Pool pool;
      const Model model = load_model(file, pool, threads);
      expect_weights_of(file, model);
      expect_the_formats_of(file, model);
      EXPECT_EQ(model.weights.layers[1].qkv.parts.size(), 1u);
      EXPECT_LE(model.weights.bytes, pool.mapped_bytes());
    }
  }
}

TEST(LoadModel, packs_a_matrix_of_many_jobs) {
  // 1024 x 3000 f32 values are 12 jobs of a mebibyte. The last panel is not full.
  const auto bytes = write_gguf({.layers = 1, .hidden = 1024, .feed_forward = 40, .heads = 8, .vocabulary = 3000});
  const GgufFile file = GgufFile::parse(bytes, "tiny.gguf");
  sync::Pool pool;
  expect_weights_of(file, load_model(file, pool, 3));
}

TEST(LoadModel, shares_the_embedding_with_a_tied_output) {
  const auto bytes = write_gguf({.tied_output = true});
  sync::Pool pool;
  const Model model = load_model(GgufFile::parse(bytes, "tiny.gguf"), pool, 2);
  ASSERT_EQ(model.weights.output.parts.size(), 1u);
  EXPECT_EQ(model.weights.output.parts[0].matrix.data, model.weights.embedding.data);
}

TEST(LoadModel, splits_a_group_where_the_packed_format_changes) {
  GgufWriter writer = tiny_writer({});
  std::mt19937_64 random(5);
  writer.tensor("blk.0.attn_v.weight", {64, 32}, StorageType::f16,
                random_tensor(random, 64 * 32, StorageType::f16, 1.0f));
  writer.tensor("blk.1.attn_k.weight", {64, 32}, StorageType::f16,
                random_tensor(random, 64 * 32, StorageType::f16, 1.0f));
  writer.tensor("blk.0.attn_norm.weight", {64}, StorageType::f16, random_tensor(random, 64, StorageType::f16, 1.0f));
  const auto bytes = writer.bytes();
  const GgufFile file = GgufFile::parse(bytes, "tiny.gguf");
  sync::Pool pool;
  const Model model = load_model(file, pool, 2);
  expect_weights_of(file, model);
  ASSERT_EQ(model.weights.layers[0].qkv.parts.size(), 2u);
  EXPECT_EQ(model.weights.layers[0].qkv.parts[1].column_begin, 96);
  EXPECT_EQ(model.weights.layers[1].qkv.parts.size(), 3u);
}

TEST(LoadModel, reports_progress_up_to_the_whole) {
  const auto bytes = write_gguf({});
  sync::Pool pool;
  uint64_t last = 0, whole = 0;
  load_model(GgufFile::parse(bytes, "tiny.gguf"), pool, 2, [&](uint64_t done, uint64_t total) {
    EXPECT_GE(done, last);
    last = done;
    whole = total;
  });
  EXPECT_GT(whole, 0u);
  EXPECT_EQ(last, whole);
}

// A file that can count how many of its bytes are in this process's memory.
class CountedFile {
 public:
  explicit CountedFile(const std::vector<std::byte>& bytes) {
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  const std::string& path() const { return path_; }
  size_t resident_bytes() const { return testing::resident_bytes_of(path_); }

 private:
  const testing::ScratchFolder folder_;
  const std::string path_ = folder_.file("counted.gguf");
};

// The file has 31 MB of weights. Memory holds only the parts that threads are packing, and nothing after that. A read
// maps up to 2 MiB around its page, so the pages before and behind a job also appear.
TEST(LoadModel, holds_no_more_of_the_file_than_its_threads_are_packing) {
  constexpr size_t kJob = size_t{1} << 20, kAround = size_t{2} << 20;
  constexpr int kThreads = 2;
  const CountedFile counted(
      write_gguf({.layers = 2, .hidden = 512, .feed_forward = 1536, .heads = 8, .vocabulary = 4096}));
  const GgufFile file = GgufFile::open(counted.path());
  ASSERT_GT(file.file_bytes(), 30 * kJob);
  const size_t header = counted.resident_bytes();
  size_t most = 0;
  sync::Pool pool;
  const Model model =
      load_model(file, pool, kThreads, [&](uint64_t, uint64_t) { most = std::max(most, counted.resident_bytes()); });
  EXPECT_LE(most, header + kThreads * (kJob + 2 * kAround));
  EXPECT_EQ(counted.resident_bytes(), 0u);
  expect_weights_of(file, model);  // reading the values loads its pages again
}

TEST(LoadModel, ends_with_the_exception_of_the_progress_callback) {
  const auto bytes = write_gguf({});
  sync::Pool pool;
  const auto interrupt = [](uint64_t, uint64_t) { throw std::runtime_error("interrupted"); };
  EXPECT_THROW(load_model(GgufFile::parse(bytes, "tiny.gguf"), pool, 2, interrupt), std::runtime_error);
}

TEST(LoadModel, refuses_missing_misshapen_and_unknown_tensors_before_it_takes_memory) {
  const std::vector<std::byte> row(64 * 4);
  const std::vector<Refusal> refusals = {
      {"missing", [](auto& w) { w.remove_tensor("blk.1.ffn_up.weight"); }, "'blk.1.ffn_up.weight'"},
      {"transposed",
       [](auto& w) {
         w.tensor("blk.0.ffn_up.weight", {96, 64}, StorageType::f32, std::vector<std::byte>(96 * 64 * 4));
       },
       "found [96, 64], expected [64, 96]"},
      {"short norm",
       [](auto& w) { w.tensor("output_norm.weight", {32}, StorageType::f32, std::vector<std::byte>(128)); },
       "found [32], expected [64]"},
      {"quantised norm",
       [](auto& w) { w.tensor("output_norm.weight", {64}, StorageType::q8_0, std::vector<std::byte>(68)); },
       "type Q8_0, expected F32"},
      {"unknown bias", [&](auto& w) { w.tensor("blk.0.attn_norm.bias", {64}, StorageType::f32, row); },
       "'blk.0.attn_norm.bias'"},
      {"one bias of three products", [&](auto& w) { w.tensor("blk.0.ffn_down.bias", {64}, StorageType::f32, row); },
       "'blk.0.ffn_gate.bias'"},
      {"one bias of three", [&](auto& w) { w.tensor("blk.0.attn_q.bias", {64}, StorageType::f32, row); },
       "'blk.0.attn_k.bias'"},
      {"a layer too many", [&](auto& w) { w.tensor("blk.2.attn_norm.weight", {64}, StorageType::f32, row); },
       "does not know"},
      {"factor of a matrix of F32",
       [&](auto& w) {
         w.tensor("blk.0.ffn_down.scale", {1}, StorageType::f32, {row.data(), row.data() + 4});
       },
       "NVFP4"},
      {"other vocabulary", [](auto& w) { w.set("llama.vocab_size", uint32_t{321}); }, "expected [64, 321]"},
  };
  expect_refused(
      refusals, [] { return tiny_writer({}); }, load_all);
}

// Matrices of NVFP4 with factors. In the first layer q and k have one, v has another, and the input's scale changes
// nothing. In the second one k has none. Without a factor, or with 1, there is no entry.
TEST(LoadModel, keeps_the_factors_of_nvfp4_matrices) {
  GgufWriter writer = tiny_writer({.feed_forward = 128});
  const auto matrix = [&](const std::string& name, int64_t columns, int64_t rows) {
    writer.tensor(name + ".weight", {columns, rows}, StorageType::nvfp4,
                  std::vector<std::byte>(static_cast<size_t>(columns / 64 * 36 * rows)));
  };
  const auto number = [&](const std::string& name, float value) {
    writer.tensor(
        name, {1}, StorageType::f32,
        std::vector<std::byte>(reinterpret_cast<std::byte*>(&value), reinterpret_cast<std::byte*>(&value + 1)));
  };
  matrix("blk.0.attn_q", 64, 64);
  matrix("blk.0.attn_k", 64, 32);
  matrix("blk.0.attn_v", 64, 32);
  matrix("blk.0.ffn_down", 128, 64);
  matrix("blk.1.ffn_down", 128, 64);
  matrix("blk.1.attn_q", 64, 64);
  matrix("blk.1.attn_k", 64, 32);
  matrix("blk.1.attn_v", 64, 32);
  number("blk.0.attn_q.scale", 0.75f);
  number("blk.0.attn_k.scale", 0.75f);
  number("blk.0.attn_v.scale", 2.0f);
  number("blk.0.attn_v.input_scale", 3.0f);
  number("blk.0.ffn_down.scale", 1.0f);
  number("blk.1.attn_q.scale", 0.5f);
  number("blk.1.attn_v.scale", 0.5f);
  const auto bytes = writer.bytes();
  sync::Pool pool;
  const GgufFile file = GgufFile::parse(bytes, "tiny.gguf");
  const Model model = load_model(file, pool, 1);
  const auto& layers = model.weights.layers;
  EXPECT_THAT(layers[0].qkv.factors, ElementsAre(ColumnFactor{0, 96, 0.75f}, ColumnFactor{96, 32, 2.0f}));
  EXPECT_THAT(layers[1].qkv.factors, ElementsAre(ColumnFactor{0, 64, 0.5f}, ColumnFactor{96, 32, 0.5f}));
  EXPECT_THAT(layers[0].down.factors, IsEmpty());
  EXPECT_THAT(layers[1].down.factors, IsEmpty());
}

// The tensors and keys of a file that reads pictures and sound, too.
TEST(LoadModel, loads_the_text_part_of_a_model_that_reads_pictures) {
  const GgufWriter text = tiny_writer({});
  GgufWriter both = text;
  const std::vector<std::byte> row(64 * 4);
  for (const char* name : {"v.blk.0.attn_q.weight", "v.patch_embd.weight", "mm.0.weight", "a.conv1d.1.weight"})
    both.tensor(name, {64}, StorageType::f32, row);
  both.set("llama.vision.block_count", uint32_t{1}).set("llama.mm.tokens_per_image", uint32_t{256});
  EXPECT_EQ(config_of(text).media_tensors, 0);
  EXPECT_EQ(config_of(both).media_tensors, 4);
  EXPECT_NO_THROW(load_all(both));
}

TEST(LoadModel, refuses_more_layers_than_tensors_before_it_makes_up_their_names) {
  GgufWriter writer = tiny_writer({});
  writer.set("llama.block_count", uint32_t{4096});
  const auto bytes = writer.bytes();
  sync::Pool pool;
  try {
    load_model(GgufFile::parse(bytes, "tiny.gguf"), pool, 1);
    ADD_FAILURE() << "was loaded";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("fewer tensors than layers"));
  }
}

// Types of which there are no quantised models here.
constexpr StorageType kInRandomModels[] = {
    StorageType::mxfp4,  StorageType::nvfp4,   StorageType::iq3_s, StorageType::iq3_xxs, StorageType::iq2_s,
    StorageType::iq2_xs, StorageType::iq2_xxs, StorageType::iq1_m, StorageType::iq1_s,   StorageType::tq2_0,
    StorageType::tq1_0,  StorageType::q2_0,    StorageType::q1_0};

TEST(LoadModel, keeps_every_value_of_every_storage_type) {
  std::set<StorageType> seen;
  for (const char* name : {"first", "second", "wide"}) {
    const GgufFile file = GgufFile::open(repository_data(std::string("mixed-models/") + name + ".gguf"));
    for (const GgufTensor& tensor : file.tensors()) seen.insert(tensor.type);
    sync::Pool pool;
    expect_weights_of(file, load_model(file, pool, 2));
  }
  for (const StorageType type : kInRandomModels) seen.insert(type);
  EXPECT_EQ(seen.size(), std::size(storage_types()));
}

TEST(LoadModel, keeps_every_value_of_random_models) {
  for (const StorageType type : kInRandomModels) {
    SCOPED_TRACE(info(type).name);
    const std::vector<std::byte> bytes = test::bytes_of(RandomModel(test::small_shape("llama-3-8b"), type, 5));
    const GgufFile file = GgufFile::parse(bytes, "random");
    EXPECT_EQ(file.require("blk.0.ffn_gate.weight").type, type);
    sync::Pool pool;
    expect_weights_of(file, load_model(file, pool, 2));
  }
}

TEST(LoadModel, packs_a_random_model_of_mxfp4) {
  const std::vector<std::byte> bytes =
      test::bytes_of(RandomModel(test::small_shape("gpt-oss-20b"), StorageType::mxfp4, 5));
  const GgufFile file = GgufFile::parse(bytes, "random");
  sync::Pool pool;
  EXPECT_EQ(file.require("blk.0.ffn_down_exps.weight").type, StorageType::mxfp4);
  EXPECT_NO_THROW(load_model(file, pool, 2));
}

TEST(LoadModel, keeps_every_value_of_a_model_of_one_storage_type) {
  if (!test_data("quant-models")) SKIP_FOR_WANT_OF(data, "no quant-models");
  for (const StorageTypeInfo& type : storage_types()) {
    // The architectures' own models have F32.
    if (type.type == StorageType::f32 || std::ranges::count(kInRandomModels, type.type) > 0) continue;
    SCOPED_TRACE(type.name);
    const auto path = test_data(std::string("quant-models/quant-") + type.name + ".gguf");
    ASSERT_TRUE(path);
    const GgufFile file = GgufFile::open(*path);
    sync::Pool pool;
    expect_weights_of(file, load_model(file, pool, 2));
  }
}

TEST(LoadModel, loads_every_dense_test_model) {
  for (const char* name : {"llama", "llama3-rope", "internlm2", "qwen2", "qwen3"}) {
    SCOPED_TRACE(name);
    const auto path = larger_data(std::string("arch-models/") + name + "-F32.gguf");
    if (!path) continue;  // tests/data has all except the first
    const GgufFile file = GgufFile::open(*path);
    sync::Pool pool;
    expect_weights_of(file, load_model(file, pool, 2));
  }
}

}  // namespace
}  // namespace tandem
