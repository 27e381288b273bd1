// Identifies matmuls that take the same time on a device (H7, H8: the same in every layer).
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "engine/device/operator.h"

namespace tandem {

struct MatMulShape {
  PackedFormat format;
  int64_t S = 0, K = 0, N = 0;
  auto operator<=>(const MatMulShape&) const = default;
};
MatMulShape shape_of(const MatMul& op);
std::string to_string(const MatMulShape& shape);

}  // namespace tandem
