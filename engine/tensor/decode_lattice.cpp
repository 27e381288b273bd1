#include "engine/tensor/decode.h"
#include "engine/tensor/lattices.h"
#include "packed/half.h"

namespace tandem::blocks {
namespace {

// Multiplies the magnitudes of a point, which its digits number, by the scale and the signs.
template <size_t kDigits>
void signed_point(const std::array<uint8_t, kDigits>& point, const float* magnitudes, uint32_t signs, float scale,
                  float* out) {
  for (size_t j = 0; j < kDigits; ++j) {
    const float value = scale * magnitudes[point[j]];
    out[j] = (signs >> j & 1) != 0 ? -value : value;
  }
}

// Nibble number `index`, from the low half of the first byte on.
int nibble_at(const uint8_t* bytes, int index) { return bytes[index / 2] >> 4 * (index % 2) & 15; }

constexpr float kIq2Magnitudes[] = {8, 25, 43};
constexpr float kIq3XxsMagnitudes[] = {4, 12, 20, 28, 36, 44, 52, 62};
constexpr float kIq3SMagnitudes[] = {1, 3, 5, 7, 9, 11, 13, 15};

// The points of IQ1 are -1, 0 and 1, all moved by an eighth into one direction.
void moved_point(const Point8& point, bool down, float scale, float* out) {
  const float moved = down ? -0.125F : 0.125F;
  for (size_t j = 0; j < point.size(); ++j) out[j] = scale * (static_cast<float>(point[j]) - 1 + moved);
}

}  // namespace

// Each group of 32 has four numbers of a byte, then a word: four times seven signs, and the scale in the top four bits.
void decode_iq2_xxs(const uint8_t* block, float* out) {
  const float d = half_to_float(read_u16(block));
  for (int g = 0; g < 8; ++g) {
    const uint8_t* numbers = block + 2 + 8 * g;
    const uint32_t word = read_u32(numbers + 4);
    const float scale = d * (0.5F + static_cast<float>(word >> 28)) * 0.25F;
    for (int l = 0; l < 4; ++l)
      signed_point(iq2_xxs_points()[numbers[l]], kIq2Magnitudes, even_signs(word >> 7 * l), scale,
                   out + 32 * g + 8 * l);
  }
}

// A point has nine bits for its number, and seven signs.
void decode_iq2_xs(const uint8_t* block, float* out) {
  const float d = half_to_float(read_u16(block));
  for (int i = 0; i < 32; ++i) {
    const uint32_t point = read_u16(block + 2 + 2 * i);
    const float scale = d * (0.5F + static_cast<float>(nibble_at(block + 66, i / 2))) * 0.25F;
    signed_point(iq2_xs_points()[point & 511], kIq2Magnitudes, even_signs(point >> 9), scale, out + 8 * i);
  }
}

// The signs of all eight values are stored, so their number may be odd.
void decode_iq2_s(const uint8_t* block, float* out) {
  const float d = half_to_float(read_u16(block));
  for (int i = 0; i < 32; ++i) {
    const int number = block[2 + i] | (block[66 + i / 4] >> 2 * (i % 4) & 3) << 8;
    const float scale = d * (0.5F + static_cast<float>(nibble_at(block + 74, i / 2))) * 0.25F;
    signed_point(iq2_s_points()[static_cast<size_t>(number)], kIq2Magnitudes, block[34 + i], scale, out + 8 * i);
  }
}

// The words of signs and scales are those of IQ2_XXS, behind all numbers.
void decode_iq3_xxs(const uint8_t* block, float* out) {
  const float d = half_to_float(read_u16(block));
  for (int i = 0; i < 64; ++i) {
    const uint32_t word = read_u32(block + 66 + i / 8 * 4);
    const float scale = d * (0.5F + static_cast<float>(word >> 28)) * 0.5F;
    const uint32_t signs = even_signs(word >> 7 * (i / 2 % 4)) >> 4 * (i % 2);
    signed_point(iq3_xxs_points()[block[2 + i]], kIq3XxsMagnitudes, signs, scale, out + 4 * i);
  }
}

void decode_iq3_s(const uint8_t* block, float* out) {
  const float d = half_to_float(read_u16(block));
  for (int i = 0; i < 64; ++i) {
    const int number = block[2 + i] | (block[66 + i / 8] >> i % 8 & 1) << 8;
    const auto scale = d * static_cast<float>(1 + 2 * nibble_at(block + 106, i / 8));
    const uint32_t signs = block[74 + i / 2] >> 4 * (i % 2);
    signed_point(iq3_s_points()[static_cast<size_t>(number)], kIq3SMagnitudes, signs, scale, out + 4 * i);
  }
}

// A half word of each group of 32 has three more bits of four numbers, then the scale, then the direction.
void decode_iq1_s(const uint8_t* block, float* out) {
  const float d = half_to_float(read_u16(block));
  for (int i = 0; i < 32; ++i) {
    const uint32_t half_word = read_u16(block + 34 + i / 4 * 2);
    const uint32_t number = block[2 + i] | (half_word >> 3 * (i % 4) & 7) << 8;
    const float scale = d * static_cast<float>(2 * (half_word >> 12 & 7) + 1);
    moved_point(iq1_points()[number], half_word >> 15 != 0, scale, out + 8 * i);
  }
}

// A nibble of each point has three more bits of its number, then the direction.
void decode_iq1_m(const uint8_t* block, float* out) {
  const float d = half_to_float(iq1_m_half(block));
  for (int i = 0; i < 32; ++i) {
    const int nibble = nibble_at(block + 32, i);
    const int number = block[i] | (nibble & 7) << 8;
    const int three_bits = read_u16(block + 48 + i / 8 * 2) >> 3 * (i / 2 % 4) & 7;
    const float scale = d * static_cast<float>(2 * three_bits + 1);
    moved_point(iq1_points()[static_cast<size_t>(number)], nibble >= 8, scale, out + 8 * i);
  }
}

}  // namespace tandem::blocks
