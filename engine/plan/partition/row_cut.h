// Which rows of a matmul each of several devices takes (H2, H6), and the least time over such cuts (H9).
//
// Contract: pure functions. Source: HeteroLLM 4.1.1, 4.1.2, 4.3.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "engine/plan/partition/matmul_shape.h"

namespace tandem {

// Which share of a matmul's rows each of row_cutters() takes, in their order, per shape. The shares of one matmul add
// up to 1.
struct RowShares {
  std::map<MatMulShape, std::vector<double>> by_shape;
  std::vector<double> otherwise;                   // of shapes that are not in the map; empty: equal parts
  std::vector<double> of(const MatMul& op) const;  // empty: equal parts
};

// H2/H6: where to cut N rows for devices that take the given shares (they add up to 1; empty: equal parts): entry i is
// the end of device i's rows, which begin where those of device i-1 end. Whole panels of 64; a part may be empty.
std::vector<int64_t> cut_rows(int64_t N, std::span<const double> shares);

// H9 for row cuts, on measured times: device i takes seconds[i] for all rows (infinite: cannot), all parts run at once,
// and every part beyond the first device's own costs t_sync to join. Returns the shares with the least time; those of
// devices that do not pay are 0.
struct RowCut {
  std::vector<double> shares;
  double seconds = 0;  // predicted
};
RowCut best_row_cut(int64_t N, std::span<const double> seconds, double t_sync);

}  // namespace tandem
