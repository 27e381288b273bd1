#include "engine/device/npu/npu_support.h"

#include <utility>
#include <variant>

namespace tandem {
namespace {

// Checks the operator's own shape first. Then the emulator says whether its compiler takes the product.
std::string matmul_refusal(const npu_emu::NpuParams& params, const MatMul& matmul) {
  if (matmul.w.columns != matmul.K) return "the weight's columns are not K";
  if (matmul.row_begin < 0 || matmul.row_end > matmul.w.rows) return "the row slice lies outside the weight";
  if (matmul.row_begin % kPanelRows != 0 || (matmul.row_end % kPanelRows != 0 && matmul.row_end != matmul.w.rows)) {
    return "a row slice begins and ends at a multiple of 64 rows or at the last row";
  }
  if (matmul.x_stride < matmul.K || matmul.y_stride < matmul.row_end) return "a stride is shorter than its row";
  return npu_emu::refusal(params, graph_product("", matmul));
}

}  // namespace

// The graph multiplies the rows of the slice, not those of the whole weight.
npu_emu::GraphProduct graph_product(std::string name, const MatMul& matmul) {
  return {std::move(name), matmul.S, matmul.row_end - matmul.row_begin, matmul.K, matmul.w.format, matmul.act_i8};
}

Support npu_support(const npu_emu::NpuParams& params, const Operator& op) {
  if (const auto missing = missing_feature(op, {Feature::products, Feature::integer_activations}))
    return {false,
            std::string(name_of(*missing)) + ": the array only multiplies and accumulates along K, in static graphs"};
  // All operators but products were refused above, so the body is a MatMul.
  const std::string reason = matmul_refusal(params, std::get<MatMul>(op.body));
  return {reason.empty(), reason};
}

}  // namespace tandem
