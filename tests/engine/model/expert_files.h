// Tiny models with experts as GGUF files, in every layout that files use.
#pragma once

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/support/gguf_writer.h"

namespace tandem::testing {

struct TinyExperts {
  int64_t count = 6, used = 2;
  int64_t feed_forward = 70;  // not a whole panel
  StorageType gate = StorageType::f32, up = StorageType::f32, down = StorageType::f32;
};

// Rows of any type with made-up codes and scales, so that no two rows are equal.
inline std::vector<std::byte> random_rows(std::mt19937_64& random, StorageType type, int64_t columns, int64_t rows) {
  if (info(type).block_values == 1) return random_tensor(random, columns * rows, type, 1.0f);
  std::vector<std::byte> bytes(row_bytes(type, columns) * static_cast<size_t>(rows));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() >> 56);
  const size_t scale_at = type == StorageType::q6_k ? 208 : 0;  // the only type here whose scale is behind the codes
  for (size_t block = 0; block < bytes.size(); block += info(type).block_bytes) {
    const uint16_t half = float_to_half(0.001f + static_cast<float>(random() >> 44) / 1048576.0f);
    std::memcpy(bytes.data() + block + scale_at, &half, sizeof half);
  }
  return bytes;
}

// Each tensor of a layer, "blk.N.ffn_gate_exps.weight" and so on, has the bytes of all experts one behind the other.
inline GgufWriter expert_writer(const TinyModel& model, const TinyExperts& experts) {
  GgufWriter writer = tiny_writer(model);
  const std::string prefix = model.architecture + ".";
  writer.set(prefix + "expert_count", static_cast<uint32_t>(experts.count));
  writer.set(prefix + "expert_used_count", static_cast<uint32_t>(experts.used));
  writer.set(prefix + "expert_feed_forward_length", static_cast<uint32_t>(experts.feed_forward));
  std::mt19937_64 random(model.seed + 77);
  const int64_t H = model.hidden, I = experts.feed_forward, E = experts.count;
  const auto tensor = [&](const std::string& name, std::vector<int64_t> shape, StorageType type) {
    int64_t rows = 1;
    for (size_t i = 1; i < shape.size(); ++i) rows *= shape[i];
    writer.tensor(name, shape, type, random_rows(random, type, shape[0], rows));
  };
  for (int64_t i = 0; i < model.layers; ++i) {
    const std::string layer = "blk." + std::to_string(i) + ".";
    for (const char* name : {"ffn_gate", "ffn_up", "ffn_down"}) writer.remove_tensor(layer + name + ".weight");
    tensor(layer + "ffn_gate_inp.weight", {H, E}, StorageType::f32);
    tensor(layer + "ffn_gate_exps.weight", {H, I, E}, experts.gate);
    tensor(layer + "ffn_up_exps.weight", {H, I, E}, experts.up);
    tensor(layer + "ffn_down_exps.weight", {I, H, E}, experts.down);
  }
  return writer;
}

}  // namespace tandem::testing
