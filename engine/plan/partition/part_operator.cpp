#include "engine/plan/partition/part_operator.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace tandem {
namespace {

// How many rows of `width` floats, `stride` floats apart, lie between the operand's place and the end of its slot.
int64_t rows_behind(const Operand& at, int64_t width, int64_t stride) {
  if (!at || stride == 0) return std::numeric_limits<int64_t>::max();
  const auto floats = static_cast<int64_t>((at.slot->size_bytes() - at.offset_bytes) / sizeof(float));
  return floats < width ? 0 : (floats - width) / stride + 1;
}

}  // namespace

// A part's rows count from the operator's first row, slice_rows() counts from the matrix's first row. The slice of
// tokens comes first, because it moves input and output. An NPU then computes its graph's tokens, of which the last
// ones may be padding.
Operator part_operator(const Operator& matmul, const Part& part) {
  Operator slice = slice_tokens(matmul, part.token_begin, part.token_end);
  auto& body = std::get<MatMul>(slice.body);
  body = slice_rows(body, body.row_begin + part.row_begin, body.row_begin + part.row_end);
  if (part.side == Side::graphs) body.S = part.graph_tokens;
  return slice;
}

std::vector<Operator> graph_operators(const Operator& matmul, const TokenLayout& layout) {
  const auto& body = std::get<MatMul>(matmul.body);
  std::vector<Operator> operators;
  for (const TokenGraph& graph : layout) {
    operators.push_back(part_operator(matmul, {Side::graphs, graph.token_begin, graph.token_end, 0,
                                               body.row_end - body.row_begin, graph.graph_tokens}));
  }
  return operators;
}

// Both the input and the output need room for padding.
CutLimits cut_limits(const DeviceTraits& npu, const MatMul& matmul) {
  CutLimits limits{npu.graph_tokens, npu.row_step, npu.token_step, 0};
  const int64_t room = std::min(rows_behind(matmul.x, matmul.K, matmul.x_stride),
                                rows_behind(matmul.y, matmul.row_end, matmul.y_stride));
  if (room != std::numeric_limits<int64_t>::max()) limits.token_room = room;
  return limits;
}

}  // namespace tandem
