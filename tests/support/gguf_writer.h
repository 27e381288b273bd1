// Tiny models as GGUF files, with seeded random weights.
//
// Contract: the same description gives the same bytes on every machine.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/model/gguf_writer.h"
#include "engine/model/random_model.h"
#include "engine/tensor/types.h"

namespace tandem::testing {

// A random model of any of the dense architectures.
struct TinyModel {
  std::string architecture = "llama";
  int64_t layers = 2, hidden = 64, feed_forward = 96, heads = 4, kv_heads = 2;
  int64_t head_dim = 0;  // 0: hidden / heads, without a key
  int64_t vocabulary = 320, context_length = 128;
  float rope_base = 10000.0f;
  StorageType type = StorageType::f32;  // the type of matrices: f32, f16 or bf16
  bool tied_output = false, qkv_bias = false, output_bias = false, qk_norm = false;
  std::vector<float> frequency_factors = {};  // [head_dim / 2]
  uint64_t seed = 1;
};

// Uniform values with a variance of 1/fan_in, so that activations keep their size from layer to layer.
inline std::vector<std::byte> random_tensor(std::mt19937_64& random, int64_t count, StorageType type, float amplitude,
                                            float offset = 0) {
  ByteSink sink;
  for (int64_t i = 0; i < count; ++i) {
    // Uses the top 24 bits of the generator, because the standard's distributions differ between libraries.
    const float unit = static_cast<float>(random() >> 40) / 8388608.0f - 1.0f;
    const float value = offset + amplitude * unit;
    if (type == StorageType::f32) sink.put(value);
    if (type == StorageType::f16) sink.put(float_to_half(value));
    if (type == StorageType::bf16) sink.put(float_to_bf16(value));
  }
  return sink.bytes();
}

// Returns the writer, so that a test can change a key or a tensor before it takes the bytes.
inline GgufWriter tiny_writer(const TinyModel& model) {
  GgufWriter writer;
  const std::string prefix = model.architecture + ".";
  const auto size = [&](const std::string& key, int64_t value) {
    writer.set(prefix + key, static_cast<uint32_t>(value));
  };
  const int64_t head_dim = model.head_dim ? model.head_dim : model.hidden / model.heads;
  writer.set("general.architecture", model.architecture).set("general.name", "tiny");
  size("block_count", model.layers);
  size("embedding_length", model.hidden);
  size("feed_forward_length", model.feed_forward);
  size("context_length", model.context_length);
  size("attention.head_count", model.heads);
  size("attention.head_count_kv", model.kv_heads);
  if (model.head_dim) {
    size("attention.key_length", head_dim);
    size("attention.value_length", head_dim);
  }
  size("vocab_size", model.vocabulary);
  size("rope.dimension_count", head_dim);
  writer.set(prefix + "rope.freq_base", model.rope_base).set(prefix + "attention.layer_norm_rms_epsilon", 1e-5f);
  const MadeUpVocabulary vocabulary = made_up_vocabulary(model.vocabulary);
  writer.set("tokenizer.ggml.model", "llama").set("tokenizer.ggml.tokens", vocabulary.tokens);
  writer.set("tokenizer.ggml.scores", vocabulary.scores).set("tokenizer.ggml.token_type", vocabulary.types);
  writer.set("tokenizer.ggml.bos_token_id", uint32_t{1}).set("tokenizer.ggml.eos_token_id", uint32_t{2});

  std::mt19937_64 random(model.seed);
  const auto matrix = [&](const std::string& name, int64_t columns, int64_t rows) {
    const float amplitude = std::sqrt(3.0f / static_cast<float>(columns));
    writer.tensor(name, {columns, rows}, model.type, random_tensor(random, columns * rows, model.type, amplitude));
  };
  const auto vector = [&](const std::string& name, int64_t length, float amplitude, float offset) {
    writer.tensor(name, {length}, StorageType::f32, random_tensor(random, length, StorageType::f32, amplitude, offset));
  };
  const auto norm = [&](const std::string& name, int64_t length) { vector(name, length, 0.2f, 1.0f); };
  const int64_t H = model.hidden, I = model.feed_forward, Q = model.heads * head_dim, KV = model.kv_heads * head_dim;
  matrix("token_embd.weight", H, model.vocabulary);
  for (int64_t i = 0; i < model.layers; ++i) {
    const std::string layer = "blk." + std::to_string(i) + ".";
    norm(layer + "attn_norm.weight", H);
    for (const auto& [name, rows] : {std::pair{"attn_q", Q}, std::pair{"attn_k", KV}, std::pair{"attn_v", KV}}) {
      matrix(layer + name + ".weight", H, rows);
      if (model.qkv_bias) vector(layer + name + ".bias", rows, 0.5f, 0.0f);
    }
    if (model.qk_norm) {
      norm(layer + "attn_q_norm.weight", head_dim);
      norm(layer + "attn_k_norm.weight", head_dim);
    }
    matrix(layer + "attn_output.weight", Q, H);
    if (model.output_bias) vector(layer + "attn_output.bias", H, 0.5f, 0.0f);
    norm(layer + "ffn_norm.weight", H);
    matrix(layer + "ffn_gate.weight", H, I);
    matrix(layer + "ffn_up.weight", H, I);
    matrix(layer + "ffn_down.weight", I, H);
  }
  norm("output_norm.weight", H);
  if (!model.tied_output) matrix("output.weight", H, model.vocabulary);
  if (!model.frequency_factors.empty()) {
    ByteSink factors;
    for (float factor : model.frequency_factors) factors.put(factor);
    writer.tensor("rope_freqs.weight", {static_cast<int64_t>(model.frequency_factors.size())}, StorageType::f32,
                  factors.bytes());
  }
  return writer;
}

inline std::vector<std::byte> write_gguf(const TinyModel& model) { return tiny_writer(model).bytes(); }

inline void write_file(const std::string& path, const std::vector<std::byte>& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace tandem::testing
