#include "engine/plan/partition/matmul_shape.h"

namespace tandem {

MatMulShape shape_of(const MatMul& op) { return {op.w.format, op.S, op.K, op.row_end - op.row_begin}; }

std::string to_string(const MatMulShape& shape) {
  return to_string(shape.format) + " S" + std::to_string(shape.S) + " K" + std::to_string(shape.K) + " N" +
         std::to_string(shape.N);
}

}  // namespace tandem
