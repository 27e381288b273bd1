// MatMul on GPUs: a work-group for each panel with few tokens, tiles of 64 x 64 with more. The caller has validated
// the operator.
#include "engine/device/gpu/lower.h"
#include "engine/device/gpu/lower_support.h"
#include "engine/device/gpu/product_end.h"
#include "engine/device/gpu/row_pieces.h"
#include "packed/runs.h"

namespace tandem::gpu {

void require_matmul_groups(const LoweringContext& context) {
  TANDEM_CHECK(context.max_work_group >= kMatMulGroup,
               "the simt matmul needs work-groups of 256, the device allows " + std::to_string(context.max_work_group));
}

namespace {

// Whether a group computes all runs at once. Such a wide group has a sum for each token and work-item, and a total for
// each token and row.
bool takes_wide_groups(int64_t tokens, const LoweringContext& context) {
  const size_t local_bytes = static_cast<size_t>(tokens) * (kWideGroup + kPanelRows) * sizeof(float);
  // With more tokens, a work-item of such a large group has too few registers.
  return tokens <= kSmallBatch / 2 && context.max_work_group >= kWideGroup && context.local_memory_bytes >= local_bytes;
}

}  // namespace

void read_row_pieces(KernelLaunch& launch) { launch.options += " -DROW_PIECES=1"; }

void set_small_batch_grid(int64_t rows, int64_t tokens, bool row_pieces, const LoweringContext& context,
                          KernelLaunch& launch) {
  size_t rows_of_group = kPanelRows, runs = kMatMulGroup / kPanelRows;
  if (row_pieces) {
    rows_of_group = kRowsOfGroup;
    runs = kColumnRuns;
    if (context.shaders)
      launch.kernel += "_rows";
    else
      read_row_pieces(launch);
  } else if (takes_wide_groups(tokens, context)) {
    runs = kWideGroup / kPanelRows;
    context.shaders ? launch.kernel += "_wide" : launch.options += " -DWIDE=1";
  }
  launch.local = {rows_of_group, runs, 1};
  launch.global = {round_up(static_cast<size_t>(rows), rows_of_group), runs, 1};
}

// With few tokens, a work-item computes runs of one row. With more, a group has 8 x 16 work-items, for 64 rows and for
// 64 tokens.
KernelLaunch lower_matmul_simt(const MatMul& op, const LoweringContext& context) {
  require_matmul_groups(context);
  const bool small_batch = op.S <= kSmallBatch;
  const bool row_pieces = in_row_pieces(op.w, context);
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
  if (small_batch) {
    set_small_batch_grid(op.row_end - op.row_begin, op.S, row_pieces, context, launch);
    if (takes_end(op, launch, context)) add_no_end(op, launch);
    if (row_pieces && rows_are_aligned(op.x, op.x_stride, 0)) launch.options += " -DALIGNED_X=1";
  } else {
    if (row_pieces) read_row_pieces(launch);
    launch.local = {kExactTileGroup, 1, 1};
    launch.global = {ceil_div(op.row_end - op.row_begin, kPanelRows) * kExactTileGroup, ceil_div(op.S, kTokensOfTile),
                     1};
  }
  return launch;
}

}  // namespace tandem::gpu
