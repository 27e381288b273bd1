// Random but valid weight bytes of any storage type. Every integer field has all its values, and every half is finite.
#pragma once

#include <cstring>
#include <random>
#include <vector>

#include "engine/tensor/block_scales.h"
#include "engine/tensor/types.h"

namespace tandem::testing {

// The byte offsets of the halves in one block: scales and minima.
inline std::vector<int> half_offsets(StorageType type) {
  switch (type) {
    case StorageType::q2_k:
      return {80, 82};
    case StorageType::q3_k:
      return {108};
    case StorageType::q6_k:
      return {208};
    case StorageType::q4_1:
    case StorageType::q5_1:
    case StorageType::q4_k:
    case StorageType::q5_k:
      return {0, 2};
    case StorageType::tq1_0:
      return {52};
    case StorageType::tq2_0:
      return {64};
    case StorageType::f32:
    case StorageType::bf16:
    case StorageType::mxfp4:
    case StorageType::nvfp4:
    case StorageType::iq1_m:
      return {};
    default:
      return {0};
  }
}

// Rows of `columns` values. magnitude: about the largest |scale|. Quantised values are up to 127 times that, and more
// for K types.
inline std::vector<uint8_t> random_rows(StorageType type, int64_t rows, int64_t columns, uint32_t seed,
                                        float magnitude = 1.0f) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> scale(-magnitude, magnitude);
  const StorageTypeInfo& block = info(type);
  std::vector<uint8_t> bytes(static_cast<size_t>(rows) * row_bytes(type, columns));
  for (size_t at = 0; at < bytes.size(); at += block.block_bytes) {
    if (type == StorageType::f32) {
      const float value = scale(random);
      std::memcpy(&bytes[at], &value, 4);
      continue;
    }
    for (uint32_t i = 0; i < block.block_bytes; ++i) bytes[at + i] = static_cast<uint8_t>(random());
    if (type == StorageType::bf16) {
      const uint16_t value = float_to_bf16(scale(random));
      std::memcpy(&bytes[at], &value, 2);
    }
    if (type == StorageType::mxfp4) bytes[at] = static_cast<uint8_t>(118 + random() % 20);
    // Scales of NVFP4 up to 0.23, and the half of IQ1_M, which lies at the top of four half words.
    if (type == StorageType::nvfp4)
      for (int i = 0; i < 4; ++i) bytes[at + i] = static_cast<uint8_t>(random() % 48);
    if (type == StorageType::iq1_m)
      set_scale(*block_scales(type), reinterpret_cast<std::byte*>(&bytes[at]), scale(random));
    for (int offset : half_offsets(type)) {
      const uint16_t half = float_to_half(scale(random));
      std::memcpy(&bytes[at + offset], &half, 2);
    }
  }
  return bytes;
}

}  // namespace tandem::testing
