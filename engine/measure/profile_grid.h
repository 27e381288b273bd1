// Chooses the points that `tandem profile` measures (H8). Each distinct matmul of a model is measured at standard token
// sizes, whole and cut to some of its rows. Every other kind of operator is measured at some token sizes and depths.
//
// All functions are pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/device/device.h"
#include "engine/measure/matmul_timer.h"
#include "engine/plan/prediction/matmul_point.h"

namespace tandem {

// Groups the matmuls of the operators by the shape of their weights (format, K, all rows). A group has one operator for
// each matrix. Groups are in the order of first appearance.
std::vector<std::vector<MatMul>> by_matrix(std::span<const Operator> operators);
bool has_weights_like(const MatMul& a, const MatMul& b);  // same format, K and rows of the whole matrix

// With up to 8 tokens reading weights dominates a matmul on most devices. It is slower while another device reads too.
inline constexpr int64_t kMemoryBoundTokens = 8;

struct GridOptions {
  bool static_graphs = false;  // as in DeviceInfo
  bool quick = false;          // fewer sizes
};

// Token sizes up to `most`: 1 to 8, then powers of two to 1024, which are the sizes of the NPU's graphs. Devices
// without static graphs also get the sizes halfway between two of them. quick: 1, 8, 32, 128.
std::vector<int64_t> grid_tokens(int64_t most, const GridOptions& options);
// All rows, a half, a quarter and an eighth of them, falling and different. The parts are whole panels of 64 rows.
// quick: all and half.
std::vector<int64_t> grid_rows(int64_t rows, bool quick);
// Points of the matrices of one shape: each number of rows at each token size. Memory-bound sizes (1, 2, 4, 8 tokens;
// quick: 1) have a second point, beside another device.
std::vector<MatMulPoint> grid_points(SameMatMuls same, const GridOptions& options);

// One operator of each kind other than matmul and KvAppend. A kind with several shapes has one for each shape.
std::vector<Operator> other_kinds(std::span<const Operator> operators);

}  // namespace tandem
