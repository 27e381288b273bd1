// MatMul on GPUs: a work-group per panel for few tokens, 64 x 64 tiles for more. The operator is already validated.
#include "engine/device/gpu/launch.h"
#include "engine/device/gpu/lower_support.h"

namespace tandem::gpu {
namespace {

constexpr int64_t kFewTokens = 8;  // their sums fit the registers beside eight decoded weights
constexpr int64_t kTokensOfTile = 64;
constexpr size_t kGroup = 256;  // 64 rows x 4 runs of K, or 16 x 16 tiles of 4 x 4

const char* source_of(PackedKind kind) {
  if (kind == PackedKind::i4) return "matmul_i4_simt";
  return kind == PackedKind::i8 ? "matmul_i8_simt" : "matmul_dense_simt";
}

}  // namespace

KernelLaunch lower_matmul_simt(const MatMul& op, const LoweringContext& context) {
  TANDEM_CHECK(context.max_work_group >= kGroup,
               "the simt matmul needs work-groups of 256, the device allows " + std::to_string(context.max_work_group));
  const bool few = op.S <= kFewTokens;
  KernelLaunch launch;
  launch.source = source_of(op.w.format.kind);
  launch.kernel = few ? "matmul_few" : "matmul_gemm";
  launch.options = packed_options(op.w.format);
  if (few) launch.options += " " + define("TOKENS", op.S);
  launch.args = {
      BufferArg{op.w.data}, BufferArg{op.x},      BufferArg{op.y, true}, uint64_t{panel_bytes(op.w.format, op.K)},
      narrow(op.K),         narrow(op.row_begin), narrow(op.row_end),    narrow(op.x_stride),
      narrow(op.y_stride)};
  if (!few) launch.args.push_back(narrow(op.S));
  const size_t panels = ceil_div(op.row_end - op.row_begin, kPanelRows);
  if (few) {
    launch.local = {64, kGroup / 64, 1};
    launch.global = {panels * 64, kGroup / 64, 1};
  } else {
    launch.local = {kGroup, 1, 1};
    launch.global = {panels * kGroup, ceil_div(op.S, kTokensOfTile), 1};
  }
  return launch;
}

}  // namespace tandem::gpu
