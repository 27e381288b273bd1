// Cuts the rows of a matmul between several devices (H2, H6), and finds the cut with the least time (H9).
//
// Contract: pure functions. Source: HeteroLLM 4.1.1, 4.1.2, 4.3.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "engine/plan/partition/matmul_shape.h"

namespace tandem {

// The share of a matmul's rows for each of row_cutters(), in their order, by shape. The shares of one matmul add up
// to 1.
struct RowShares {
  std::map<MatMulShape, std::vector<double>> by_shape;
  std::vector<double> otherwise;                   // for shapes that are not in the map; empty: equal parts
  std::vector<double> of(const MatMul& op) const;  // empty: equal parts
};

// H2/H6: cuts N rows by shares that add up to 1. Entry i is the end of device i's rows, which begin where those of
// device i-1 end. Cuts lie between panels of 64 rows, and a part may be empty. Error without shares.
std::vector<int64_t> cut_rows(int64_t N, std::span<const double> shares);

// H9 for row cuts between any number of devices. Device i takes seconds[i] for all rows (infinite: it cannot). All
// parts run at the same time, and joining costs t_sync for every part beyond the first device's. Returns the shares
// with the least time; devices that do not pay get 0. Error if no device can run the matmul.
struct RowCut {
  std::vector<double> shares;
  double seconds = 0;  // predicted
};
RowCut best_row_cut(int64_t N, std::span<const double> seconds, double t_sync);

}  // namespace tandem
