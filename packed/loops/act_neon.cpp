// The loops for 8-bit activations on Arm processors with dot products of bytes (sdot). Everything here is static,
// because files that are compiled for fewer instructions must not share it.
//
// A tile is decoded to words of four neighbouring codes of a row, by the store that interleaves four vectors. Rows then
// have the order of their bytes: with 4-bit codes row 16 b + j is at place 4 j + b, and 8-bit codes are in order.
// Scales and sums follow this order until the results leave.
#include <arm_neon.h>

#include <cstring>

#include "packed/loops/act_loops_tables.h"
#include "packed/loops/codes.h"
#include "packed/runs.h"
#include "packed/tiles.h"

#define ACT_INLINE static inline __attribute__((always_inline))

namespace tandem {
namespace {

constexpr int kRows = 64, kQuads = 8, kLanes = 4, kVectors = 2, kTokens = 4;  // 8 sums and 8 chains in 32 registers

struct RowScales {
  alignas(16) float scale[kRows], min[kRows];
};
struct Tile {
  alignas(16) int8_t codes[kQuads][kRows * 4];
  RowScales groups[2];
};

constexpr int row_at(bool four_bits, int place) { return four_bits ? place % 4 * 16 + place / 4 : place; }

ACT_INLINE float32x4_t four_halves(const uint16_t* from) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(from))); }

template <Codes kCodes>
ACT_INLINE void reorder(const float* from, float* to) {
  for (int place = 0; place < kRows; ++place) to[place] = from[row_at(kFourBits<kCodes>, place)];
}

// Scales and minima of group g as floats. A super block multiplies its half by the group's integer, and its minimum is
// an amount to subtract.
template <Codes kCodes>
ACT_INLINE void read_scales(const PackedFormat& format, const TileView& view, int g, RowScales& to) {
  const int first = g * kRows;
  const bool super = format.scale != ScaleKind::half, with_min = format.min == MinKind::explicit_;
  float scale[kRows], min[kRows] = {};
  for (int row = 0; row < kRows; row += kLanes) {
    if (!super) {
      vst1q_f32(scale + row, four_halves(view.scale + first + row));
      if (with_min) vst1q_f32(min + row, four_halves(view.minimum + first + row));
      continue;
    }
    float of_scale[kLanes], of_min[kLanes] = {};
    for (int i = 0; i < kLanes; ++i) {
      of_scale[i] = static_cast<float>(static_cast<int8_t>(view.sub_scale[first + row + i])) * format.scale_step();
      if (with_min) of_min[i] = static_cast<float>(static_cast<uint8_t>(view.sub_minimum[first + row + i]));
    }
    vst1q_f32(scale + row, vmulq_f32(four_halves(view.scale + row), vld1q_f32(of_scale)));
    if (with_min) vst1q_f32(min + row, vnegq_f32(vmulq_f32(four_halves(view.minimum + row), vld1q_f32(of_min))));
  }
  reorder<kCodes>(scale, to.scale);
  if (with_min) reorder<kCodes>(min, to.min);
}

// Loads four even columns and four odd ones. The interleaving store then puts a row's four codes into one word.
// ActBlock has the same split into even and odd columns.
template <Codes kCodes>
ACT_INLINE void read_codes(const PackedFormat& format, const uint8_t* from, int8_t (*to)[kRows * 4]) {
  const uint8x16_t book = vreinterpretq_u8_s8(vld1q_s8(format.book_values()));
  for (int m = 0; m < kQuads / 2; ++m)
    for (int row = 0; row < kRows; row += 16) {
      uint8x16x4_t even, odd;
      for (int j = 0; j < 4; ++j) {
        if (kFourBits<kCodes>) {
          const uint8x16_t both = vld1q_u8(from + (4 * m + j) * kRows + row);
          even.val[j] = vandq_u8(both, vdupq_n_u8(15));
          odd.val[j] = vshrq_n_u8(both, 4);
          if (kCodes == Codes::book)
            even.val[j] = vqtbl1q_u8(book, even.val[j]), odd.val[j] = vqtbl1q_u8(book, odd.val[j]);
        } else {
          even.val[j] = vld1q_u8(from + (8 * m + 2 * j) * kRows + row);
          odd.val[j] = vld1q_u8(from + (8 * m + 2 * j + 1) * kRows + row);
        }
      }
      vst4q_u8(reinterpret_cast<uint8_t*>(to[2 * m] + row * 4), even);
      vst4q_u8(reinterpret_cast<uint8_t*>(to[2 * m + 1] + row * 4), odd);
    }
}

// The sums of tokens [t, place] of the run that a tile belongs to, and the totals of the runs before.
struct ActSums {
  float *run, *total;
  bool begins_run, ends_run;
};

// Adds a tile to the sums. Eight rows of all tokens are worked on at a time, so that their sums stay in registers
// through the tile.
template <bool kWithMin, int kGroups, int tokens>
ACT_INLINE void accumulate(const Tile& tile, int zero_point, const ActBlock* x, int64_t x_stride, const ActSums& sums,
                           int64_t token) {
  float *run = sums.run + token * kRows, *total = sums.total + token * kRows;
  constexpr int kOfGroup = kQuads / kGroups;
  for (int first = 0; first < kRows; first += kVectors * kLanes) {
    float32x4_t acc[tokens][kVectors];
#pragma GCC unroll 4
    for (int t = 0; t < tokens; ++t)
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v)
        acc[t][v] = sums.begins_run ? vdupq_n_f32(0) : vld1q_f32(run + t * kRows + first + v * kLanes);
#pragma GCC unroll 2
    for (int g = 0; g < kGroups; ++g) {
      // The sum of (code - zero point) * x is the sum of code * x less zero point * sum of x. So the sums begin with
      // the second part.
      int32x4_t sum[tokens][kVectors];
      int32_t codes_of[tokens];
#pragma GCC unroll 4
      for (int t = 0; t < tokens; ++t) {
        const ActBlock& block = x[t * x_stride];
        codes_of[t] = kGroups == 1 ? block.sums[0] + block.sums[1] : block.sums[g];
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sum[t][v] = vdupq_n_s32(-zero_point * codes_of[t]);
      }
#pragma GCC unroll 8
      for (int q = g * kOfGroup; q < (g + 1) * kOfGroup; ++q) {
        int8x16_t codes[kVectors];
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) codes[v] = vld1q_s8(tile.codes[q] + (first + v * kLanes) * 4);
#pragma GCC unroll 4
        for (int t = 0; t < tokens; ++t) {
          int32_t word;
          std::memcpy(&word, x[t * x_stride].codes + 4 * q, sizeof word);
          const int8x16_t four = vreinterpretq_s8_s32(vdupq_n_s32(word));
#pragma GCC unroll 4
          for (int v = 0; v < kVectors; ++v) sum[t][v] = vdotq_s32(sum[t][v], codes[v], four);
        }
      }
#pragma GCC unroll 4
      for (int t = 0; t < tokens; ++t) {
        // The operations and their order are those of act_i8_product().
        const float scale = x[t * x_stride].scale;
        const float32x4_t offset = vdupq_n_f32(scale * static_cast<float>(codes_of[t]));
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          const int at = first + v * kLanes;
          const float32x4_t both = vmulq_n_f32(vld1q_f32(tile.groups[g].scale + at), scale);
          acc[t][v] = vfmaq_f32(acc[t][v], vcvtq_f32_s32(sum[t][v]), both);
          if (kWithMin) acc[t][v] = vfmaq_f32(acc[t][v], vld1q_f32(tile.groups[g].min + at), offset);
        }
      }
    }
#pragma GCC unroll 4
    for (int t = 0; t < tokens; ++t)
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const int at = t * kRows + first + v * kLanes;
        if (sums.ends_run)
          vst1q_f32(total + at, vaddq_f32(vld1q_f32(total + at), acc[t][v]));
        else
          vst1q_f32(run + at, acc[t][v]);
      }
  }
}

// Four tokens at a time share each load of codes. The tokens that are left go one by one.
template <bool kWithMin, int kGroups>
ACT_INLINE void take_in_all(const Tile& tile, int zero_point, const ActPanel& args, int64_t at, const ActSums& sums) {
  const int64_t stride = args.columns / kTileColumns;
  int64_t s = 0;
  for (; s + kTokens <= args.tokens; s += kTokens)
    accumulate<kWithMin, kGroups, kTokens>(tile, zero_point, args.x + s * stride + at, stride, sums, s);
  for (; s < args.tokens; ++s)
    accumulate<kWithMin, kGroups, 1>(tile, zero_point, args.x + s * stride + at, stride, sums, s);
}

// Decodes each tile once and adds it to the sums of all tokens. So decoding costs the same for one token and for many.
template <Codes kCodes>
void multiply(const ActPanel& args) {
  const PackedFormat& format = *args.format;
  const int groups = format.group == 16 ? 2 : 1;
  const bool with_min = format.min == MinKind::explicit_;
  ActSums sums = {args.sums, args.sums + args.tokens * kRows, false, false};
  std::memset(sums.total, 0, static_cast<size_t>(args.tokens) * kRows * sizeof(float));
  Tile tile;
  const TilesOfPanel panel(format, args.panel);
  ColumnRun run(args.columns);
  for (int64_t at = 0; at < args.columns / kTileColumns; ++at) {
    sums.begins_run = at == run.first_column() / kTileColumns;
    sums.ends_run = at + 1 == run.end_column() / kTileColumns;
    if (sums.ends_run) run.next();
    const TileView view = panel.at(at);
    for (int g = 0; g < groups; ++g) read_scales<kCodes>(format, view, g, tile.groups[g]);
    read_codes<kCodes>(format, view.codes, tile.codes);
    // Each combination is compiled by itself, so the inner loops have no branches.
    if (groups == 1 && with_min)
      take_in_all<true, 1>(tile, format.zero_point, args, at, sums);
    else if (groups == 1)
      take_in_all<false, 1>(tile, format.zero_point, args, at, sums);
    else if (with_min)
      take_in_all<true, 2>(tile, format.zero_point, args, at, sums);
    else
      take_in_all<false, 2>(tile, format.zero_point, args, at, sums);
  }
  // Rows beyond the matrix are padding and are not written.
  for (int64_t s = 0; s < args.tokens; ++s)
    for (int place = 0; place < kRows; ++place)
      if (const int row = row_at(kFourBits<kCodes>, place); row < args.rows)
        args.y[s * args.y_stride + row] = sums.total[s * kRows + place];
}

void multiply_panel(const ActPanel& args) {
  if (args.format->book != CodeBook::none) return multiply<Codes::book>(args);
  args.format->kind == PackedKind::i4 ? multiply<Codes::nibbles>(args) : multiply<Codes::bytes>(args);
}

constexpr int kPeakChains = 16;  // latency 4, four instructions a cycle

// Independent chains hide the latency of an instruction.
int64_t peak(int64_t rounds) {
  const int8x16_t codes = vdupq_n_s8(3), x = vdupq_n_s8(2);
  int32x4_t chains[kPeakChains];
  for (int32x4_t& chain : chains) chain = vdupq_n_s32(0);
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 16
    for (int i = 0; i < kPeakChains; ++i) chains[i] = vdotq_s32(chains[i], codes, x);
  }
  int64_t sum = 0;
  for (const int32x4_t& chain : chains) sum += vaddvq_s32(chain);
  return sum;
}

}  // namespace

extern const ActLoops kNeonActLoops;
const ActLoops kNeonActLoops = {"sdot", InstructionSet::portable, quantise_act, multiply_panel, 16 * kPeakChains, peak};

}  // namespace tandem
