// Writes GGUF files into memory: by hand, key by key, or as a seeded random tiny model.
//
// Contract: the same description gives the same bytes on every machine. Nothing is checked, so that broken files can be
// written too.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/tensor/types.h"

namespace tandem::testing {

// Bytes that grow at the end.
class ByteSink {
 public:
  template <typename T>
  ByteSink& put(T value) {
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof value);
    return *this;
  }
  ByteSink& put_string(const std::string& text) {
    put<uint64_t>(text.size());
    const auto* from = reinterpret_cast<const std::byte*>(text.data());
    bytes_.insert(bytes_.end(), from, from + text.size());
    return *this;
  }
  ByteSink& put_bytes(const std::vector<std::byte>& more) {
    bytes_.insert(bytes_.end(), more.begin(), more.end());
    return *this;
  }
  ByteSink& pad_to(size_t alignment) {
    bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
    return *this;
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

class GgufWriter {
 public:
  uint32_t version = 3;
  uint64_t alignment = 32;  // of the tensor data; writes no key

  GgufWriter& set(const std::string& key, uint16_t value) { return raw(key, 2, ByteSink().put(value).bytes()); }
  GgufWriter& set(const std::string& key, uint32_t value) { return raw(key, 4, ByteSink().put(value).bytes()); }
  GgufWriter& set(const std::string& key, int32_t value) { return raw(key, 5, ByteSink().put(value).bytes()); }
  GgufWriter& set(const std::string& key, uint64_t value) { return raw(key, 10, ByteSink().put(value).bytes()); }
  GgufWriter& set(const std::string& key, float value) { return raw(key, 6, ByteSink().put(value).bytes()); }
  GgufWriter& set(const std::string& key, bool value) { return raw(key, 7, ByteSink().put(uint8_t{value}).bytes()); }
  GgufWriter& set(const std::string& key, const char* value) {
    return raw(key, 8, ByteSink().put_string(value).bytes());
  }
  GgufWriter& set(const std::string& key, const std::string& value) { return set(key, value.c_str()); }
  GgufWriter& set(const std::string& key, const std::vector<std::string>& values) {
    ByteSink sink;
    sink.put<uint32_t>(8).put<uint64_t>(values.size());
    for (const std::string& value : values) sink.put_string(value);
    return raw(key, 9, sink.bytes());
  }
  GgufWriter& set(const std::string& key, const std::vector<float>& values) { return array(key, 6, values); }
  GgufWriter& set(const std::string& key, const std::vector<int32_t>& values) { return array(key, 5, values); }
  GgufWriter& set(const std::string& key, const std::vector<uint32_t>& values) { return array(key, 4, values); }
  // A value of any type number.
  GgufWriter& raw(const std::string& key, uint32_t type, const std::vector<std::byte>& payload) {
    for (Entry& entry : entries_) {
      if (entry.key == key) return entry = {key, type, payload}, *this;
    }
    entries_.push_back({key, type, payload});
    return *this;
  }
  GgufWriter& remove(const std::string& key) {
    std::erase_if(entries_, [&](const Entry& entry) { return entry.key == key; });
    return *this;
  }

  // Replaces a tensor of the same name.
  GgufWriter& tensor(const std::string& name, std::vector<int64_t> shape, StorageType type,
                     std::vector<std::byte> data) {
    for (Tensor& tensor : tensors_) {
      if (tensor.name == name) return tensor = {name, std::move(shape), type, std::move(data)}, *this;
    }
    tensors_.push_back({name, std::move(shape), type, std::move(data)});
    return *this;
  }
  GgufWriter& remove_tensor(const std::string& name) {
    std::erase_if(tensors_, [&](const Tensor& tensor) { return tensor.name == name; });
    return *this;
  }

  std::vector<std::byte> bytes() const {
    ByteSink sink;
    sink.put<uint32_t>(0x46554747).put(version).put<uint64_t>(tensors_.size()).put<uint64_t>(entries_.size());
    for (const Entry& entry : entries_) sink.put_string(entry.key).put(entry.type).put_bytes(entry.payload);
    ByteSink data;
    for (const Tensor& tensor : tensors_) {
      sink.put_string(tensor.name).put<uint32_t>(static_cast<uint32_t>(tensor.shape.size()));
      for (int64_t dimension : tensor.shape) sink.put(dimension);
      data.pad_to(alignment);
      sink.put(static_cast<uint32_t>(tensor.type)).put<uint64_t>(data.bytes().size());
      data.put_bytes(tensor.data);
    }
    if (!tensors_.empty()) sink.pad_to(alignment).put_bytes(data.bytes());
    return sink.bytes();
  }

 private:
  struct Entry {
    std::string key;
    uint32_t type;
    std::vector<std::byte> payload;
  };
  struct Tensor {
    std::string name;
    std::vector<int64_t> shape;
    StorageType type;
    std::vector<std::byte> data;
  };
  template <typename T>
  GgufWriter& array(const std::string& key, uint32_t element, const std::vector<T>& values) {
    ByteSink sink;
    sink.put(element).put<uint64_t>(values.size());
    for (T value : values) sink.put(value);
    return raw(key, 9, sink.bytes());
  }

  std::vector<Entry> entries_;
  std::vector<Tensor> tensors_;
};

// A random model of any of the dense architectures.
struct TinyModel {
  std::string architecture = "llama";
  int64_t layers = 2, hidden = 64, feed_forward = 96, heads = 4, kv_heads = 2;
  int64_t head_dim = 0;  // 0: hidden / heads, and no key says so
  int64_t vocabulary = 320, context_length = 128;
  float rope_base = 10000.0f;
  StorageType type = StorageType::f32;  // of the matrices: f32, f16 or bf16
  bool tied_output = false, qkv_bias = false, output_bias = false, qk_norm = false;
  std::vector<float> frequency_factors = {};  // [head_dim / 2]
  uint64_t seed = 1;
};

// The pieces of a small SentencePiece vocabulary: <unk> <s> </s>, 256 bytes, letters, a few merges, then fillers.
struct TinyVocabulary {
  std::vector<std::string> tokens;
  std::vector<float> scores;
  std::vector<int32_t> types;
};

inline TinyVocabulary tiny_vocabulary(int64_t size) {
  TinyVocabulary vocabulary;
  const auto add = [&](const std::string& token, float score, int32_t type) {
    if (static_cast<int64_t>(vocabulary.tokens.size()) == size) return;
    vocabulary.tokens.push_back(token);
    vocabulary.scores.push_back(score);
    vocabulary.types.push_back(type);
  };
  constexpr int32_t kNormal = 1, kUnknown = 2, kControl = 3, kByte = 6;
  add("<unk>", 0, kUnknown);
  add("<s>", 0, kControl);
  add("</s>", 0, kControl);
  for (int byte = 0; byte < 256; ++byte) {
    const char* digits = "0123456789ABCDEF";
    add(std::string("<0x") + digits[byte / 16] + digits[byte % 16] + ">", 0, kByte);
  }
  float score = 0;
  const std::string blank = "\xe2\x96\x81";
  for (const std::string& piece : {blank + "t", std::string("he"), blank + "the", std::string("in"), blank + "a"})
    add(piece, --score, kNormal);
  add(blank, --score, kNormal);
  for (char letter = 'a'; letter <= 'z'; ++letter) add(std::string(1, letter), --score, kNormal);
  for (int i = 0; static_cast<int64_t>(vocabulary.tokens.size()) < size; ++i)
    add(blank + "w" + std::to_string(i), --score, kNormal);
  return vocabulary;
}

// Uniform values of the same variance as 1/fan_in, so that activations keep their size from layer to layer.
inline std::vector<std::byte> random_tensor(std::mt19937_64& random, int64_t count, StorageType type, float amplitude,
                                            float offset = 0) {
  ByteSink sink;
  for (int64_t i = 0; i < count; ++i) {
    // The generator's top 24 bits: the standard's distributions differ between libraries.
    const float unit = static_cast<float>(random() >> 40) / 8388608.0f - 1.0f;
    const float value = offset + amplitude * unit;
    if (type == StorageType::f32) sink.put(value);
    if (type == StorageType::f16) sink.put(float_to_half(value));
    if (type == StorageType::bf16) sink.put(float_to_bf16(value));
  }
  return sink.bytes();
}

// The writer, so that a test can change a key or a tensor before it takes the bytes.
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
  const TinyVocabulary vocabulary = tiny_vocabulary(model.vocabulary);
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
