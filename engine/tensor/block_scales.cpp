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
    {StorageType::q4_0, 0},
    {StorageType::q4_1, 0, 2},
    {StorageType::q5_0, 0},
    {StorageType::q5_1, 0, 2},
    {StorageType::q8_0, 0},
    {StorageType::q2_k, 80, 82},
    {StorageType::q3_k, 108},
    {StorageType::q4_k, 0, 2},
    {StorageType::q5_k, 0, 2},
    {StorageType::q6_k, 208},
    {StorageType::iq4_nl, 0},
    {StorageType::iq4_xs, 0},
    {StorageType::mxfp4, 0, {}, true},
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

// Multiplies a power of two, and rounds to another one. Signs stay in the codes, so the factor is above 0.
bool multiply_exponent(std::byte* place, float factor) {
  const auto old = std::to_integer<int>(*place);
  if (old == 255) return true;  // NaN stays NaN
  const double exponent = old + std::round(std::log2(static_cast<double>(factor)));
  *place = static_cast<std::byte>(std::clamp(exponent, 0.0, 254.0));
  return exponent <= 254;
}

// Multiplies one value of a type without blocks.
bool multiply_value(StorageType type, std::byte* place, float factor) {
  if (type == StorageType::f32) return multiply<float, same, same>(place, factor);
  if (type == StorageType::bf16) return multiply<uint16_t, bf16_to_float, float_to_bf16>(place, factor);
  return multiply_half(place, factor);
}

}  // namespace

uint8_t nearest_exponent(float scale) {
  const double exponent = std::round(std::log2(std::fabs(static_cast<double>(scale)))) + 128;
  return static_cast<uint8_t>(std::clamp(exponent, 0.0, 254.0));
}

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
    if (scales->is_exponent) {
      finite &= multiply_exponent(block + scales->scale, factor);
      continue;
    }
    finite &= multiply_half(block + scales->scale, factor);
    if (scales->minimum) finite &= multiply_half(block + *scales->minimum, factor);
  }
  return finite;
}

}  // namespace tandem
