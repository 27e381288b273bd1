// MatMul: validation, cuts to the reach of kernel arguments, and launches with exact sums.
#include <limits>

#include "engine/device/gpu/lower.h"
#include "engine/device/gpu/lower_support.h"
#include "engine/device/gpu/product_end.h"
#include "engine/device/gpu/product_kernels.h"
#include "engine/device/gpu/row_pieces.h"
#include "packed/act_i8.h"
#include "shaders/limits.h"
#include "sync/error.h"

namespace tandem::gpu {
namespace {

std::string describe(const MatMul& op) {
  return "matmul S=" + std::to_string(op.S) + " K=" + std::to_string(op.K) + " rows " + std::to_string(op.row_begin) +
         ".." + std::to_string(op.row_end) + " of [" + std::to_string(op.w.rows) + ", " + std::to_string(op.w.columns) +
         "] " + to_string(op.w.format);
}

// Error when shapes, the row range or strides do not fit.
void validate(const MatMul& op) {
  auto require = [&](bool holds, const char* what) {
    if (!holds) throw Error(std::string("malformed operator: ") + what, describe(op));
  };
  require(op.S >= 0 && op.K > 0 && op.K == op.w.columns, "S and K must be sizes, K that of the weight");
  require(op.row_begin >= 0 && op.row_begin <= op.row_end && op.row_end <= op.w.rows,
          "the row range must lie in the weight");
  require(op.row_begin % kPanelRows == 0, "row_begin must be a multiple of 64");
  require(op.row_end % kPanelRows == 0 || op.row_end == op.w.rows, "row_end must be a multiple of 64 or the last row");
  require(op.x_stride >= op.K && op.y_stride >= op.row_end, "strides must cover the rows of x and y");
  require(!op.act_i8 || misfit_act_i8(op.w.format) == nullptr, "dense weights have no integers");
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  require(op.x_stride < kMax && op.y_stride < kMax && op.w.rows < kMax, "sizes must fit 32 bits");
}

// Rows [begin, end) as a matmul of a weight that starts at its first panel, so that arguments reach as little
// as possible.
MatMul rebased(const MatMul& op, int64_t begin, int64_t end) {
  MatMul part = op;
  part.w.rows = end - begin;
  part.w.data = op.w.data.advanced(static_cast<size_t>(begin / kPanelRows) * panel_bytes(op.w.format, op.K));
  part.y = op.y.advanced(static_cast<size_t>(begin) * sizeof(float));
  part.row_begin = 0;
  part.row_end = end - begin;
  return part;
}

// Tokens [begin, end) of the operator.
MatMul tokens_of(const MatMul& op, int64_t begin, int64_t end) {
  MatMul part = op;
  part.S = end - begin;
  part.x = op.x.advanced(static_cast<size_t>(begin * op.x_stride) * sizeof(float));
  part.y = op.y.advanced(static_cast<size_t>(begin * op.y_stride) * sizeof(float));
  return part;
}

// The number of tokens that one argument reaches: rows of `width` floats, `stride` apart.
int64_t reached_tokens(int64_t width, int64_t stride, const LoweringContext& context, const MatMul& of) {
  constexpr int64_t kFloat = sizeof(float);
  pieces_within_reach(width * kFloat, context, "one token", [&of] { return describe(of); });
  return 1 + (argument_reach(context) / kFloat - width) / stride;
}

// Cuts the operator so that every argument reaches all of its part: weights by panels, x and y by tokens. Neither cut
// changes a bit.
std::vector<MatMul> within_reach(const MatMul& op, const LoweringContext& context) {
  const auto panel = static_cast<int64_t>(panel_bytes(op.w.format, op.K));
  constexpr int64_t kPanelOfY = kPanelRows * static_cast<int64_t>(sizeof(float));
  const int64_t panels =
      pieces_within_reach(std::max(panel, kPanelOfY), context, "a panel of 64 rows", [&op] { return describe(op); });
  std::vector<MatMul> by_rows;
  // The weight's argument begins at row 0, so the reach counts from there.
  if (panel_count(op.row_end) <= panels) {
    by_rows.push_back(op);
  } else {
    for (int64_t begin = op.row_begin; begin < op.row_end; begin += panels * kPanelRows)
      by_rows.push_back(rebased(op, begin, std::min(op.row_end, begin + panels * kPanelRows)));
  }
  std::vector<MatMul> parts;
  for (const MatMul& rows : by_rows) {
    int64_t tokens = std::min(reached_tokens(rows.K, rows.x_stride, context, op),
                              reached_tokens(rows.row_end, rows.y_stride, context, op));
    if (tokens >= op.S) {
      parts.push_back(rows);
      continue;
    }
    // Whole tiles, so that only the last part has a tile that is not full.
    if (tokens > kTokensOfTile) tokens -= tokens % kTokensOfTile;
    for (int64_t begin = 0; begin < op.S; begin += tokens)
      parts.push_back(tokens_of(rows, begin, std::min(op.S, begin + tokens)));
  }
  return parts;
}

// The launch of a part with exact sums.
KernelLaunch lower_exact(const MatMul& op, const LoweringContext& context) {
  const ProductShape shape{.format = op.w.format, .tokens = op.S, .row_pieces = in_row_pieces(op.w, context)};
  const ProductKernel& kernel = product_kernel(shape, context);
  KernelLaunch launch = product_launch(kernel, shape, op.row_end - op.row_begin, context);
  launch.args = {
      BufferArg{op.w.data}, BufferArg{op.x},      BufferArg{op.y, true}, uint64_t{panel_bytes(op.w.format, op.K)},
      narrow(op.K),         narrow(op.row_begin), narrow(op.row_end),    narrow(op.x_stride),
      narrow(op.y_stride)};
  if (!kernel.is_small_batch()) launch.args.push_back(narrow(op.S));
  set_tiles(op, kernel, launch);
  if (takes_end(op, launch, context)) {
    add_no_end(op, launch);
    if (rows_are_aligned(op.x, op.x_stride, 0)) launch.options += " -DALIGNED_X=1";
  }
  return launch;
}

}  // namespace

void set_tiles(const MatMul& op, const ProductKernel& kernel, KernelLaunch& launch) {
  if (kernel.cut.tokens > 0) launch.global[1] *= ceil_div(op.S, kernel.cut.tokens);
}

// Lowers each part that the arguments reach: with 8-bit activations, for a list's kernel, or with exact sums.
std::vector<KernelLaunch> lower_matmul(const MatMul& op, const LoweringContext& context) {
  validate(op);
  if (op.S == 0 || op.row_begin == op.row_end) return {};
  require_countable(op.K, TANDEM_MAX_K, context, "K", [&op] { return describe(op); });
  std::vector<KernelLaunch> launches;
  for (const MatMul& part : within_reach(op, context)) {
    if (part.act_i8) {
      for (KernelLaunch& launch : lower_act_i8(part, context)) launches.push_back(std::move(launch));
      continue;
    }
    // A list's kernel already has the variants for few tokens. Compiling the variant for many tokens into it would take
    // as long as compiling all of these.
    if (part.S > kSmallBatch && part.S <= context.listed_tokens) {
      for (int64_t begin = 0; begin < part.S; begin += kSmallBatch)
        launches.push_back(lower_exact(tokens_of(part, begin, std::min(part.S, begin + kSmallBatch)), context));
      continue;
    }
    launches.push_back(lower_exact(part, context));
  }
  return launches;
}

}  // namespace tandem::gpu
