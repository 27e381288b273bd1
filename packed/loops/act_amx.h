// Sums of sixteen tokens at a time by AMX tiles. packed/loops/act_simd.h includes this file if it is compiled for AMX.
//
// A product of tiles is the exact sums of 16 tokens and 16 rows over a group. It reads the chunk's words and the
// tokens' codes in place. The sums leave the tiles through memory, with room for two groups. So the next group's
// products run while this group's sums are scaled.
#pragma once

namespace tandem {
namespace {

constexpr int kTileTokens = 16, kTileRows = 16, kRowTiles = kRows / kTileRows;

// Tiles 0 to 3 hold sums, tile 4 the tokens' codes, tiles 5 and 6 the weights.
struct alignas(64) TileConfig {
  uint8_t palette, start_row, reserved[14];
  uint16_t column_bytes[16];
  uint8_t rows[16];
};
static_assert(sizeof(TileConfig) == 64);
template <int kOfGroup>
constexpr TileConfig kTileConfig = {
    1, 0, {}, {64, 64, 64, 64, 4 * kOfGroup, 64, 64}, {16, 16, 16, 16, 16, kOfGroup, kOfGroup}};

// A compiler barrier, because gcc 12 does not know what tile instructions read and write.
ACT_INLINE void settle_memory() { __asm__ volatile("" ::: "memory"); }

struct TileSums {
  alignas(64) int32_t of[kRowTiles][kTileTokens][kTileRows];
};

// Sums of one group for 16 tokens and all 64 rows, into `to`. The four products alternate between two weight tiles, so
// that a load runs beside a product.
template <int kGroups>
ACT_INLINE void multiply_tiles(const Chunk& chunk, int group, const ActBlock* x, int64_t x_stride, TileSums& to) {
  constexpr int kOfGroup = kQuads / kGroups;
  const int tile = group / kGroups, g = group % kGroups;
  const uint8_t* words = chunk.codes[tile][g * kOfGroup];
  settle_memory();
  _tile_loadd(4, x[tile].codes + g * kOfGroup * 4, static_cast<int>(x_stride * static_cast<int64_t>(sizeof(ActBlock))));
  _tile_zero(0);
  _tile_loadd(5, words, kRows * 4);
  _tile_dpbsud(0, 4, 5);
  _tile_zero(1);
  _tile_loadd(6, words + kTileRows * 4, kRows * 4);
  _tile_dpbsud(1, 4, 6);
  _tile_zero(2);
  _tile_loadd(5, words + 2 * kTileRows * 4, kRows * 4);
  _tile_dpbsud(2, 4, 5);
  _tile_zero(3);
  _tile_loadd(6, words + 3 * kTileRows * 4, kRows * 4);
  _tile_dpbsud(3, 4, 6);
  _tile_stored(0, to.of[0], kTileRows * 4);
  _tile_stored(1, to.of[1], kTileRows * 4);
  _tile_stored(2, to.of[2], kTileRows * 4);
  _tile_stored(3, to.of[3], kTileRows * 4);
  settle_memory();
}

// Scales one group's sums and adds them to the sums of a run [token][row], after the correction for unsigned codes. The
// first group of a run begins at zero, and the last one's sums join the totals.
template <Codes kCodes, bool kWithMin, int kGroups>
ACT_INLINE void scale_tiles(const RowScales& scales, int g, int bias, const ActBlock* x, int64_t x_stride,
                            const TileSums& found, const ActSums& sums, bool begins_run, bool ends_run) {
  Floats scale[kRowTiles], min[kRowTiles];
#pragma GCC unroll 4
  for (int i = 0; i < kRowTiles; ++i) {
    scale[i] = load_floats(scales.scale + i * kTileRows);
    if (kWithMin) min[i] = load_floats(scales.min + i * kTileRows);
  }
#pragma GCC unroll 2
  for (int t = 0; t < kTileTokens; ++t) {
    const ActBlock& block = x[t * x_stride];
    const int32_t codes = kGroups == 1 ? block.sums[0] + block.sums[1] : block.sums[g];
    const Floats of_x = all_floats(block.scale), offset = all_floats(block.scale * static_cast<float>(codes));
    const Ints start = all_words(-bias * codes);
    float *run = sums.run + t * kRows, *total = sums.total + t * kRows;
#pragma GCC unroll 4
    for (int i = 0; i < kRowTiles; ++i) {
      Ints sum = load_ints(found.of[i][t]);
      if (!(kSmall<kCodes> && kWithMin)) sum = _mm512_add_epi32(sum, start);
      Floats acc = begins_run ? all_floats(0) : load_floats(run + i * kTileRows);
      acc = fmadd(to_floats(sum), product(scale[i], of_x), acc);
      if (kWithMin) acc = fmadd(min[i], offset, acc);
      if (ends_run)
        store_floats(total + i * kTileRows, sum_of(load_floats(total + i * kTileRows), acc));
      else
        store_floats(run + i * kTileRows, acc);
    }
  }
}

// Accumulates 16 tokens at a time over `tiles` tiles, and returns the number of tokens that it has accumulated. While
// one group's sums are scaled, the next group's products already run.
template <Codes kCodes, bool kWithMin, int kGroups>
ACT_INLINE int64_t take_in_many(const Chunk& chunk, int tiles, int bias, const ActBlock* x, int64_t x_stride,
                                int64_t tokens, const ActSums& sums) {
  if (tokens < kTileTokens) return 0;
  _tile_loadconfig(&kTileConfig<kQuads / kGroups>);
  TileSums found[2];
  const int groups = tiles * kGroups;
  int64_t s = 0;
  for (; s + kTileTokens <= tokens; s += kTileTokens) {
    const ActBlock* block = x + s * x_stride;
    multiply_tiles<kGroups>(chunk, 0, block, x_stride, found[0]);
    for (int group = 0, i = 0; group < groups; ++group) {
      if (group + 1 < groups) multiply_tiles<kGroups>(chunk, group + 1, block, x_stride, found[(group + 1) % 2]);
      const ChunkPart& part = chunk.part[i];
      const int tile = group / kGroups;
      const bool is_last = group + 1 == part.end * kGroups;
      scale_tiles<kCodes, kWithMin, kGroups>(
          chunk.groups[group], group % kGroups, bias, block + tile, x_stride, found[group % 2],
          ActSums::of_token(sums, s), part.begins_run && group == part.first * kGroups, part.ends_run && is_last);
      if (is_last) ++i;
    }
  }
  _tile_release();
  return s;
}

constexpr int64_t kPeakProducts = 4 * int64_t{kTileTokens} * kTileRows * 32;  // a round is four tiles of sums

int64_t peak(int64_t rounds) {
  alignas(64) int8_t x[kTileTokens * 64], codes[kQuads * kTileRows * 4];
  std::memset(x, 2, sizeof x);
  std::memset(codes, 3, sizeof codes);
  TileSums sums;
  settle_memory();
  _tile_loadconfig(&kTileConfig<kQuads>);
  _tile_loadd(4, x, 64);
  _tile_loadd(5, codes, kTileRows * 4);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int64_t round = 0; round < rounds; ++round) {
    _tile_dpbsud(0, 4, 5);
    _tile_dpbsud(1, 4, 5);
    _tile_dpbsud(2, 4, 5);
    _tile_dpbsud(3, 4, 5);
  }
  _tile_stored(0, sums.of[0], kTileRows * 4);
  _tile_stored(1, sums.of[1], kTileRows * 4);
  _tile_stored(2, sums.of[2], kTileRows * 4);
  _tile_stored(3, sums.of[3], kTileRows * 4);
  _tile_release();
  settle_memory();
  int64_t sum = 0;
  for (const auto& tile : sums.of)
    for (const auto& row : tile)
      for (const int32_t word : row) sum += word;
  return sum;
}

}  // namespace
}  // namespace tandem
