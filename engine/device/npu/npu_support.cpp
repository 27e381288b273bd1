#include "engine/device/npu/npu_support.h"

#include <variant>

namespace tandem {
namespace {

std::string matmul_refusal(const npu_emu::NpuParams& params, const Operator& op, const MatMul& matmul) {
  if (matmul.w.columns != matmul.K) return "the weight's columns are not K";
  if (matmul.row_begin < 0 || matmul.row_end > matmul.w.rows) return "the row slice lies outside the weight";
  if (matmul.row_begin % kPanelRows != 0 || (matmul.row_end % kPanelRows != 0 && matmul.row_end != matmul.w.rows)) {
    return "a row slice begins and ends at a multiple of 64 rows or at the last row";
  }
  if (matmul.x_stride < matmul.K || matmul.y_stride < matmul.row_end) return "a stride is shorter than its row";
  return npu_emu::refusal(params, graph_product(op, matmul));
}

}  // namespace

npu_emu::PanelFormat panel_format(const PackedFormat& format) {
  npu_emu::PanelFormat panel;
  switch (format.kind) {
    case PackedKind::f32:
      panel.element = npu_emu::Element::f32;
      break;
    case PackedKind::f16:
      panel.element = npu_emu::Element::f16;
      break;
    case PackedKind::bf16:
      panel.element = npu_emu::Element::bf16;
      break;
    case PackedKind::i4:
      panel.element = npu_emu::Element::i4;
      break;
    case PackedKind::i8:
      panel.element = npu_emu::Element::i8;
      break;
  }
  switch (format.scale) {
    case ScaleKind::none:
      panel.scales = npu_emu::Scales::none;
      break;
    case ScaleKind::half:
      panel.scales = npu_emu::Scales::half;
      break;
    case ScaleKind::super:
      panel.scales = npu_emu::Scales::super;
      break;
  }
  switch (format.min) {
    case MinKind::none:
      panel.minimum = npu_emu::Minimum::none;
      break;
    case MinKind::zero_point:
      panel.minimum = npu_emu::Minimum::zero_point;
      break;
    case MinKind::explicit_:
      panel.minimum = npu_emu::Minimum::stored;
      break;
  }
  panel.group = format.group;
  panel.zero_point = format.zero_point;
  return panel;
}

npu_emu::GraphProduct graph_product(const Operator& op, const MatMul& matmul) {
  return {op.name, matmul.S, matmul.row_end - matmul.row_begin, matmul.K, panel_format(matmul.w.format)};
}

Support npu_support(const npu_emu::NpuParams& params, const Operator& op) {
  if (const auto missing = missing_feature(op, {Feature::products}))
    return {false,
            std::string(name_of(*missing)) + ": the array only multiplies and accumulates along K, in static graphs"};
  const std::string reason = matmul_refusal(params, op, std::get<MatMul>(op.body));
  return {reason.empty(), reason};
}

}  // namespace tandem
