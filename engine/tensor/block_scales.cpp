#include "engine/tensor/block_scales.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "engine/tensor/decode.h"

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
    {StorageType::iq3_s, 0},
    {StorageType::iq3_xxs, 0},
    {StorageType::iq2_s, 0},
    {StorageType::iq2_xs, 0},
    {StorageType::iq2_xxs, 0},
    {StorageType::iq1_s, 0},
    {StorageType::iq1_m, 48, {}, ScaleForm::nibbles},
    {StorageType::tq1_0, 52},
    {StorageType::tq2_0, 64},
    {StorageType::q1_0, 0},
    {StorageType::q2_0, 0},
    {StorageType::mxfp4, 0, {}, ScaleForm::exponent},
    {StorageType::nvfp4, 0, {}, ScaleForm::four_bytes},
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
// f32 is stored as it is computed.
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

// The byte of the power of two that is nearest to a factor of the codes of MXFP4.
std::byte nearest_exponent(float scale) {
  const double exponent = std::round(std::log2(std::fabs(static_cast<double>(scale)))) + 128;
  return static_cast<std::byte>(std::clamp(exponent, 0.0, 254.0));
}

// The byte of NVFP4 whose factor of the codes is nearest, and at most the largest one. Within a power of two, bytes
// count eighths of it; below 2^-7 they count steps of 2^-10. A byte of 8 steps is the next power of two.
constexpr int kLargestNvfp4 = 126;
int nvfp4_byte(float scale) {
  const float magnitude = std::fabs(scale);
  if (magnitude < 0x1p-7F) return static_cast<int>(std::lround(magnitude * 0x1p10F));
  const int exponent = std::ilogb(magnitude);
  const auto eighths = static_cast<int>(std::lround(std::ldexp(magnitude, 3 - exponent)));
  return 8 * (exponent + 8) + eighths - 8;
}

// Multiplies four scales of NVFP4. A scale of 127 counts as 0.
bool multiply_nvfp4(std::byte* scales, float factor) {
  bool finite = true;
  for (int i = 0; i < 4; ++i) {
    const float scale = blocks::nvfp4_scale(std::to_integer<uint8_t>(scales[i]));
    const int byte = nvfp4_byte(scale * factor);
    finite &= byte <= kLargestNvfp4;
    scales[i] = static_cast<std::byte>(std::min(byte, kLargestNvfp4));
  }
  return finite;
}

// The half of IQ1_M: four bits at the top of each of four half words.
uint16_t read_nibbles(const std::byte* words) {
  uint16_t half = 0;
  for (int i = 0; i < 4; ++i)
    half = static_cast<uint16_t>(half | (std::to_integer<uint32_t>(words[2 * i + 1]) >> 4) << 4 * i);
  return half;
}
void write_nibbles(std::byte* words, uint16_t half) {
  for (int i = 0; i < 4; ++i)
    words[2 * i + 1] = (words[2 * i + 1] & std::byte{15}) | static_cast<std::byte>((half >> 4 * i & 15) << 4);
}
bool multiply_nibbles(std::byte* words, float factor) {
  uint16_t half = read_nibbles(words);
  const bool finite = multiply_half(reinterpret_cast<std::byte*>(&half), factor);
  write_nibbles(words, half);
  return finite;
}

// Each form of a scale has its own way of being multiplied. A block has one form.
bool multiply_scale(const BlockScales& scales, std::byte* block, float factor) {
  std::byte* place = block + scales.scale;
  switch (scales.form) {
    case ScaleForm::exponent:
      return multiply_exponent(place, factor);
    case ScaleForm::four_bytes:
      return multiply_nvfp4(place, factor);
    case ScaleForm::nibbles:
      return multiply_nibbles(place, factor);
    case ScaleForm::half:
      break;
  }
  return multiply_half(place, factor);
}

// Multiplies one value of a type without blocks.
bool multiply_value(StorageType type, std::byte* place, float factor) {
  if (type == StorageType::f32) return multiply<float, same, same>(place, factor);
  if (type == StorageType::bf16) return multiply<uint16_t, bf16_to_float, float_to_bf16>(place, factor);
  return multiply_half(place, factor);
}

}  // namespace

// Writes a scale in the block's own form, rounded to the nearest one that the form has.
void set_scale(const BlockScales& scales, std::byte* block, float scale) {
  std::byte* place = block + scales.scale;
  const uint16_t half = float_to_half(scale);
  if (scales.form == ScaleForm::exponent)
    *place = nearest_exponent(scale);
  else if (scales.form == ScaleForm::four_bytes)
    std::fill_n(place, 4, static_cast<std::byte>(std::min(nvfp4_byte(scale), kLargestNvfp4)));
  else if (scales.form == ScaleForm::nibbles)
    write_nibbles(place, half);
  else
    std::memcpy(place, &half, sizeof half);
}

// Types without blocks have no entry.
const BlockScales* block_scales(StorageType type) {
  const auto* found = std::ranges::find(kBlockScales, type, &BlockScales::type);
  return found == std::end(kBlockScales) ? nullptr : found;
}

// Only scales and minima are multiplied: all values of a block are linear in them.
bool multiply_blocks(StorageType type, std::span<std::byte> blocks, float factor) {
  const BlockScales* scales = block_scales(type);
  bool finite = true;
  for (size_t at = 0; at < blocks.size(); at += info(type).block_bytes) {
    std::byte* block = blocks.data() + at;
    if (scales == nullptr) {
      finite &= multiply_value(type, block, factor);
      continue;
    }
    finite &= multiply_scale(*scales, block, factor);
    if (scales->minimum) finite &= multiply_half(block + *scales->minimum, factor);
  }
  return finite;
}

}  // namespace tandem
