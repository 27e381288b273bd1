#include "engine/tensor/block_scales.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>

namespace tandem {
namespace {

// Type, offset of the scale's half, offset of the minimum's half if the type has one. The layouts are
// in engine/tensor/decode.h.
constexpr BlockScales kBlockScales[] = {
    {StorageType::q4_0, 0},    {StorageType::q4_1, 0, 2},   {StorageType::q5_0, 0},   {StorageType::q5_1, 0, 2},
    {StorageType::q8_0, 0},    {StorageType::q2_k, 80, 82}, {StorageType::q3_k, 108}, {StorageType::q4_k, 0, 2},
    {StorageType::q5_k, 0, 2}, {StorageType::q6_k, 208},    {StorageType::iq4_nl, 0}, {StorageType::iq4_xs, 0},
};

// Multiplies the stored number at `place`. False: a finite number became infinite.
template <typename Stored, float (*widen)(Stored), Stored (*narrow)(float)>
bool multiply(std::byte* place, float factor) {
  Stored stored;
  std::memcpy(&stored, place, sizeof stored);
  const float value = widen(stored);
  stored = narrow(value * factor);
  std::memcpy(place, &stored, sizeof stored);
  return !std::isfinite(value) || std::isfinite(widen(stored));
}
float same(float value) { return value; }

constexpr auto multiply_half = multiply<uint16_t, half_to_float, float_to_half>;

// Multiplies one value of a type without blocks.
bool multiply_value(StorageType type, std::byte* place, float factor) {
  if (type == StorageType::f32) return multiply<float, same, same>(place, factor);
  if (type == StorageType::bf16) return multiply<uint16_t, bf16_to_float, float_to_bf16>(place, factor);
  return multiply_half(place, factor);
}

}  // namespace

const BlockScales* block_scales(StorageType type) {
  const auto* found = std::ranges::find(kBlockScales, type, &BlockScales::type);
  return found == std::end(kBlockScales) ? nullptr : found;
}

// Only halves are multiplied: all values of a block are linear in them.
bool multiply_blocks(StorageType type, std::span<std::byte> blocks, float factor) {
  const BlockScales* scales = block_scales(type);
  bool finite = true;
  for (size_t at = 0; at < blocks.size(); at += info(type).block_bytes) {
    std::byte* block = blocks.data() + at;
    if (scales == nullptr) {
      finite &= multiply_value(type, block, factor);
      continue;
    }
    finite &= multiply_half(block + scales->scale, factor);
    if (scales->minimum) finite &= multiply_half(block + *scales->minimum, factor);
  }
  return finite;
}

}  // namespace tandem
