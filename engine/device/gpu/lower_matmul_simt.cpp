// MatMul on GPUs: a work-group for each panel with few tokens, tiles of 64 x 64 with more. The caller has validated
// the operator.
#include "engine/device/gpu/lower.h"
#include "engine/device/gpu/lower_support.h"

namespace tandem::gpu {

void require_matmul_groups(const LoweringContext& context) {
  TANDEM_CHECK(context.max_work_group >= kMatMulGroup,
               "the simt matmul needs work-groups of 256, the device allows " + std::to_string(context.max_work_group));
}

// A wide group has a sum for each token and work-item, and a total for each token and row.
size_t choose_runs_at_once(int64_t tokens, const LoweringContext& context, KernelLaunch& launch) {
  const size_t local_bytes = static_cast<size_t>(tokens) * (kWideGroup + kPanelRows) * sizeof(float);
  // With more tokens, a work-item of such a large group has too few registers.
  if (tokens > kSmallBatch / 2 || context.max_work_group < kWideGroup || context.local_memory_bytes < local_bytes)
    return kMatMulGroup / kPanelRows;
  if (context.shaders)
    launch.kernel += "_wide";
  else
    launch.options += " -DWIDE=1";
  return kWideGroup / kPanelRows;
}

// With few tokens, a group has a work-item for each row of a panel and each run of K. With more, it has 16 x
// 16 work-items.
KernelLaunch lower_matmul_simt(const MatMul& op, const LoweringContext& context) {
  require_matmul_groups(context);
  const bool small_batch = op.S <= kSmallBatch;
  KernelLaunch launch;
  launch.source = in_family(matmul_stem(op.w.format.kind), KernelFamily::simt);
  launch.kernel = small_batch ? "matmul_small_batch" : "matmul_gemm";
  launch.options = packed_options(op.w.format);
  if (small_batch) launch.options.append(" ").append(define("TOKENS", op.S));
  launch.args = {
      BufferArg{op.w.data}, BufferArg{op.x},      BufferArg{op.y, true}, uint64_t{panel_bytes(op.w.format, op.K)},
      narrow(op.K),         narrow(op.row_begin), narrow(op.row_end),    narrow(op.x_stride),
      narrow(op.y_stride)};
  if (!small_batch) launch.args.push_back(narrow(op.S));
  const size_t panels = ceil_div(op.row_end - op.row_begin, kPanelRows);
  if (small_batch) {
    const size_t runs = choose_runs_at_once(op.S, context, launch);
    launch.local = {kPanelRows, runs, 1};
    launch.global = {panels * kPanelRows, runs, 1};
  } else {
    launch.local = {kMatMulGroup, 1, 1};
    launch.global = {panels * kMatMulGroup, ceil_div(op.S, kTokensOfTile), 1};
  }
  return launch;
}

}  // namespace tandem::gpu
