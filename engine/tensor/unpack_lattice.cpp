#include "engine/tensor/decode.h"
#include "engine/tensor/lattices.h"
#include "engine/tensor/unpack.h"

// The packed codes are the code books' values, with their signs. Scales of IQ2, IQ3_XXS and IQ1 are odd multiples of an
// eighth or a quarter of the block's half; all of them are stored as multiples of an eighth.
namespace tandem::blocks {
namespace {

constexpr int8_t kIq2Codes[] = {8, 25, 43};
constexpr int8_t kIq3XxsCodes[] = {8, 24, 40, 56, 72, 88, 104, 124};  // twice the values, because of the eighths
constexpr int8_t kIq3SCodes[] = {1, 3, 5, 7, 9, 11, 13, 15};

uint8_t with_sign(int8_t code, uint32_t minus) { return static_cast<uint8_t>((minus & 1) != 0 ? -code : code); }

// Codes of one point; bit j of `signs` belongs to value j.
template <typename Point>
void put_point(const Point& point, const int8_t* codes, uint32_t signs, uint8_t* q) {
  for (size_t j = 0; j < point.size(); ++j) q[j] = with_sign(codes[point[j]], signs >> j);
}

// Eighths of a point of IQ1, which lies an eighth above or below -1, 0 and 1.
void put_moved_point(const Point8& point, int moved, uint8_t* q) {
  for (size_t j = 0; j < point.size(); ++j) q[j] = static_cast<uint8_t>(8 * point[j] - 8 + moved);
}

// Scales of these types are odd, so that none of them is 0.
int8_t odd(uint32_t number) { return static_cast<int8_t>(2 * number + 1); }

// Four bits for each of `count` groups.
void read_nibble_scales(const uint8_t* from, int count, Unpacked& to) {
  for (int g = 0; g < count; g += 2) {
    to.scales[g] = odd(from[g / 2] & 15u);
    to.scales[g + 1] = odd(from[g / 2] >> 4);
  }
}

}  // namespace

// A group of 32 values has four points of eight, then a word: four times 7 bits of signs, and a scale on top.
void unpack_iq2_xxs(const uint8_t* block, Unpacked& to) {
  to.scale = read_u16(block);
  for (int g = 0; g < 8; ++g) {
    const uint8_t* group = block + 2 + 8 * g;
    uint32_t signs = read_u32(group + 4);
    to.scales[g] = odd(signs >> 28);
    for (int l = 0; l < 4; ++l, signs >>= 7)
      put_point(iq2_xxs_points()[group[l]], kIq2Codes, even_signs(signs), to.q + 32 * g + 8 * l);
  }
}

// Nine bits choose one of 512 points, and seven bits hold the signs of its eight values.
void unpack_iq2_xs(const uint8_t* block, Unpacked& to) {
  to.scale = read_u16(block);
  for (int i = 0; i < 32; ++i) {
    const uint32_t low = block[2 + 2 * i], high = block[3 + 2 * i];
    put_point(iq2_xs_points()[low + 256 * (high & 1)], kIq2Codes, even_signs(high >> 1), to.q + 8 * i);
  }
  read_nibble_scales(block + 66, 16, to);
}

// Ten bits choose a point: a byte, and two bits of a byte that four points share. Each point has a byte of signs.
void unpack_iq2_s(const uint8_t* block, Unpacked& to) {
  to.scale = read_u16(block);
  for (int i = 0; i < 32; ++i) {
    const uint32_t high = static_cast<uint32_t>(block[66 + i / 4]) >> 2 * (i % 4) & 3;
    put_point(iq2_s_points()[block[2 + i] + 256 * high], kIq2Codes, block[34 + i], to.q + 8 * i);
  }
  read_nibble_scales(block + 74, 16, to);
}

// Two points of four values share seven bits of signs. A scale stands above the signs of four such pairs.
void unpack_iq3_xxs(const uint8_t* block, Unpacked& to) {
  to.scale = read_u16(block);
  for (int g = 0; g < 8; ++g) {
    uint32_t signs = read_u32(block + 66 + 4 * g);
    to.scales[g] = odd(signs >> 28);
    for (int l = 0; l < 4; ++l, signs >>= 7) {
      const uint8_t* pair = block + 2 + 8 * g + 2 * l;
      uint8_t* q = to.q + 32 * g + 8 * l;
      put_point(iq3_xxs_points()[pair[0]], kIq3XxsCodes, even_signs(signs), q);
      put_point(iq3_xxs_points()[pair[1]], kIq3XxsCodes, even_signs(signs) >> 4, q + 4);
    }
  }
}

// Nine bits choose a point of four values, and its four signs are half a byte.
void unpack_iq3_s(const uint8_t* block, Unpacked& to) {
  to.scale = read_u16(block);
  for (int i = 0; i < 64; ++i) {
    const uint32_t high = static_cast<uint32_t>(block[66 + i / 8]) >> i % 8 & 1;
    const uint32_t signs = static_cast<uint32_t>(block[74 + i / 2]) >> (i % 2 == 0 ? 0 : 4);
    put_point(iq3_s_points()[block[2 + i] + 256 * high], kIq3SCodes, signs, to.q + 4 * i);
  }
  read_nibble_scales(block + 106, 8, to);
}

// Eleven bits choose a point. A bit of the group moves all of its values by an eighth, up or down.
void unpack_iq1_s(const uint8_t* block, Unpacked& to) {
  to.scale = read_u16(block);
  for (int g = 0; g < 8; ++g) {
    const uint32_t word = read_u16(block + 34 + 2 * g);
    to.scales[g] = odd(word >> 12 & 7);
    for (int l = 0; l < 4; ++l)
      put_moved_point(iq1_points()[block[2 + 4 * g + l] + 256 * (word >> 3 * l & 7)], word >= 0x8000 ? -1 : 1,
                      to.q + 32 * g + 8 * l);
  }
}

// The points are those of IQ1_S. Each point of eight values has its own shift, and each group of 16 its own scale.
void unpack_iq1_m(const uint8_t* block, Unpacked& to) {
  to.scale = iq1_m_half(block);
  for (int g = 0; g < 16; ++g) {
    to.scales[g] = odd(static_cast<uint32_t>(read_u16(block + 48 + g / 4 * 2)) >> 3 * (g % 4) & 7);
    const uint32_t pair = block[32 + g];
    put_moved_point(iq1_points()[block[2 * g] + 256 * (pair & 7)], (pair & 8) != 0 ? -1 : 1, to.q + 16 * g);
    put_moved_point(iq1_points()[block[2 * g + 1] + 256 * (pair >> 4 & 7)], pair >= 128 ? -1 : 1, to.q + 16 * g + 8);
  }
}

}  // namespace tandem::blocks
