// The shape of a matmul. Matmuls of one shape take the same time on a device, in every layer (H7, H8).
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "engine/device/operator.h"

namespace tandem {

// S tokens, K columns of the weights, N output rows that the operator computes.
struct MatMulShape {
  PackedFormat format;
  int64_t S = 0, K = 0, N = 0;
  auto operator<=>(const MatMulShape&) const = default;
};
MatMulShape shape_of(const MatMul& op);
std::string to_string(const MatMulShape& shape);

}  // namespace tandem
