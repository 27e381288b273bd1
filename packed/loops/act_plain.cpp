// The loops for any processor: they unpack a tile's codes once, then add them to every token's sums, row beside row.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "packed/decode.h"
#include "packed/loops/act_loops.h"
#include "packed/runs.h"

namespace tandem {
namespace {

struct PlainTile {
  int16_t codes[kTileColumns][kPanelRows];  // minus the zero point
  Affine affine[2][kPanelRows];
};

// Subtracting the zero point here saves it for every token.
void unpack(const PackedFormat& format, const TileView& view, PlainTile& tile) {
  for (int64_t g = 0; g < format.groups(); ++g)
    for (int64_t r = 0; r < kPanelRows; ++r) tile.affine[g][r] = affine_of(format, view, g, r);
  for (int64_t k = 0; k < kTileColumns; ++k)
    for (int64_t r = 0; r < kPanelRows; ++r)
      tile.codes[k][r] = static_cast<int16_t>(code_of(format, view, k, r) - format.zero_point);
}

// Adds one tile to a token's sums, with the operations and the order of act_i8_product(). The inner loops run over rows
// that lie side by side, so a compiler can vectorise them.
void accumulate(const PackedFormat& format, const PlainTile& tile, const ActBlock& x, float* sums) {
  for (int64_t g = 0; g < format.groups(); ++g) {
    int32_t products[kPanelRows] = {};
    for (int64_t k = g * format.group; k < (g + 1) * format.group; ++k) {
      const int32_t code = x.codes[act_code_at(k)];
      for (int64_t r = 0; r < kPanelRows; ++r) products[r] += tile.codes[k][r] * code;
    }
    const int32_t codes = format.groups() == 1 ? x.sums[0] + x.sums[1] : x.sums[g];
    const float offset = x.scale * static_cast<float>(codes);
    for (int64_t r = 0; r < kPanelRows; ++r) {
      const Affine& affine = tile.affine[g][r];
      sums[r] = std::fma(static_cast<float>(products[r]), affine.scale * x.scale, sums[r]);
      if (format.min == MinKind::explicit_) sums[r] = std::fma(affine.minimum, offset, sums[r]);
    }
  }
}

// Tiles are the outer loop, so each is unpacked once for all tokens. The sums of a run are added to the totals where
// it ends.
void multiply_panel(const ActPanel& args) {
  const int64_t tiles = args.columns / kTileColumns, all = args.tokens * kPanelRows;
  float *run_sums = args.sums, *totals = args.sums + all;
  std::fill_n(totals, all, 0.0F);
  PlainTile tile;
  for (ColumnRun run(args.columns); run.is_valid(); run.next()) {
    std::fill_n(run_sums, all, 0.0F);
    for (int64_t t = run.first_column() / kTileColumns; t < run.end_column() / kTileColumns; ++t) {
      unpack(*args.format, tile_view(*args.format, args.panel, t), tile);
      for (int64_t s = 0; s < args.tokens; ++s)
        accumulate(*args.format, tile, args.x[s * tiles + t], run_sums + s * kPanelRows);
    }
    for (int64_t i = 0; i < all; ++i) totals[i] += run_sums[i];
  }
  for (int64_t s = 0; s < args.tokens; ++s)
    std::memcpy(args.y + s * args.y_stride, totals + s * kPanelRows, static_cast<size_t>(args.rows) * sizeof(float));
}

// The peak of these loops is measured by the rows of one panel, multiplied again and again.
constexpr int64_t kPeakRows = 64;

int64_t peak(int64_t rounds) {
  int16_t codes[kPeakRows];
  int32_t sums[kPeakRows] = {};
  std::fill_n(codes, kPeakRows, int16_t{3});
  for (int64_t round = 0; round < rounds; ++round) {
    __asm__("" : "+m"(codes));  // without it the compiler would replace all rounds by one multiplication
    for (int64_t r = 0; r < kPeakRows; ++r) sums[r] += codes[r] * 2;
  }
  return std::accumulate(sums, sums + kPeakRows, int64_t{0});
}

constexpr ActLoops kPlain = {"plain", InstructionSet::portable, quantise_act, multiply_panel, kPeakRows, peak};

}  // namespace

const ActLoops& plain_act_loops() { return kPlain; }

}  // namespace tandem
