// MatMul: validation, cuts to the reach of kernel arguments, and the simd launches.
#include <limits>

#include "engine/device/gpu/lower.h"
#include "engine/device/gpu/lower_support.h"
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

// Few tokens (up to kSmallBatch) get a kernel with their number as a constant; more tokens get a matrix product.
KernelLaunch lower_simd(const MatMul& op, const LoweringContext& context) {
  KernelLaunch launch;
  launch.source = in_family(matmul_stem(op.w.format.kind), KernelFamily::simd);
  const bool small_batch = op.S <= kSmallBatch;
  // Blocks of 16 rows. With few tokens, 4 blocks hide the latency of fma. With more of them, the sums of 4 blocks leave
  // no registers for scales and minima, which dense weights lack. In shaders, a lane has four rows anyway.
  const bool four = op.S <= 4 || (op.w.format.dense() && context.vector_registers >= 32);
  const int64_t blocks = context.shaders || (small_batch && four) ? 4 : 2;
  launch.kernel = small_batch ? "matmul_small_batch" : "matmul_gemm";
  launch.options = packed_options(op.w.format).append(" ").append(define("BLOCKS", blocks));
  if (small_batch)
    launch.options.append(" ").append(define("TOKENS", op.S)).append(offsets_option(op.w.format, context));
  if (!context.shaders) launch.options.append(" ").append(define("REGISTERS", context.vector_registers));
  launch.args = {BufferArg{op.w.data},
                 BufferArg{op.x},
                 BufferArg{op.y, true},
                 uint64_t{panel_bytes(op.w.format, op.K)},
                 static_cast<int32_t>(op.K),
                 static_cast<int32_t>(op.row_begin),
                 static_cast<int32_t>(op.row_end),
                 static_cast<int32_t>(op.x_stride),
                 static_cast<int32_t>(op.y_stride)};
  if (!small_batch) launch.args.push_back(static_cast<int32_t>(op.S));
  const int64_t rows = 16 * blocks;
  launch.global[0] = ceil_div(op.row_end - op.row_begin, rows);
  // Each group of a shader takes one tile of tokens; OpenCL kernels loop over the tiles.
  if (!small_batch && context.shaders) launch.global[1] = ceil_div(op.S, kSmallBatch);
  return launch;
}

}  // namespace

// Lowers each part that the arguments reach: by 8-bit activations, for a list's kernel, or by the family of kernels.
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
        launches.push_back(lower_simd(tokens_of(part, begin, std::min(part.S, begin + kSmallBatch)), context));
      continue;
    }
    launches.push_back(context.family == KernelFamily::simt ? lower_matmul_simt(part, context)
                                                            : lower_simd(part, context));
  }
  return launches;
}

}  // namespace tandem::gpu
