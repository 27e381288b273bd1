// Which points `tandem profile` measures (H8): each distinct matmul of a model at standard token sizes and cut to some
// of its rows, and every other kind of operator at some token sizes and depths.
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

// Matmuls of the operators by the shape of their weights (format, K, all rows), each with one operator a matrix, in
// order of first appearance.
std::vector<std::vector<MatMul>> by_matrix(std::span<const Operator> operators);
bool has_weights_like(const MatMul& a, const MatMul& b);  // the same format, K and rows of the whole matrix

// Up to 8 tokens a matmul is bound by reading weights on most devices, and slower while another device reads too.
inline constexpr int64_t kMemoryBoundTokens = 8;

// Token sizes up to `most`: 1 to 8, then powers of two to 1024, the NPU's graphs. For other devices also those halfway
// between two. quick: 1, 8, 32, 128.
std::vector<int64_t> grid_tokens(int64_t most, DeviceKind kind, bool quick);
// All rows, a half, a quarter and an eighth of them, in whole panels of 64, falling and different. quick: all and half.
std::vector<int64_t> grid_rows(int64_t rows, bool quick);
// Points of the matrices of one shape: rows x tokens, once alone, and once beside another device where memory-bound
// (1, 2, 4, 8 tokens; quick: 1).
std::vector<MatMulPoint> grid_points(SameMatMuls same, DeviceKind kind, bool quick);

// One operator of each kind but matmuls (of a kind with several shapes, one each).
std::vector<Operator> other_kinds(std::span<const Operator> operators);

}  // namespace tandem
