#include <limits>

#include "engine/device/gpu/launch.h"
#include "engine/device/gpu/packed_options.h"
#include "sync/error.h"

namespace tandem::gpu {
namespace {

constexpr int64_t kFewTokens = 8;  // up to here the sums of all tokens fit the registers beside the decoded weights

void validate(const MatMul& op) {
  const std::string object = "matmul S=" + std::to_string(op.S) + " K=" + std::to_string(op.K) + " rows " +
                             std::to_string(op.row_begin) + ".." + std::to_string(op.row_end) + " of [" +
                             std::to_string(op.w.rows) + ", " + std::to_string(op.w.columns) + "] " +
                             to_string(op.w.format);
  auto require = [&](bool holds, const char* what) {
    if (!holds) throw Error(std::string("malformed operator: ") + what, object);
  };
  require(op.S >= 0 && op.K > 0 && op.K == op.w.columns, "S and K must be sizes, K that of the weight");
  require(op.row_begin >= 0 && op.row_begin <= op.row_end && op.row_end <= op.w.rows,
          "the row range must lie in the weight");
  require(op.row_begin % kPanelRows == 0, "row_begin must be a multiple of 64");
  require(op.row_end % kPanelRows == 0 || op.row_end == op.w.rows, "row_end must be a multiple of 64 or the last row");
  require(op.x_stride >= op.K && op.y_stride >= op.row_end, "strides must cover the rows of x and y");
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  require(op.x_stride < kMax && op.y_stride < kMax && op.w.rows < kMax, "sizes must fit 32 bits");
}

KernelLaunch lower_simd(const MatMul& op) {
  KernelLaunch launch;
  const PackedKind kind = op.w.format.kind;
  launch.source = kind == PackedKind::i4   ? "matmul_i4_simd"
                  : kind == PackedKind::i8 ? "matmul_i8_simd"
                                           : "matmul_dense_simd";
  const bool few = op.S <= kFewTokens;
  const int64_t blocks = few && op.S <= 4 ? 4 : 2;  // of 16 rows: 4 hide the latency of fma when there are few tokens
  launch.kernel = few ? "matmul_few" : "matmul_gemm";
  launch.options = packed_options(op.w.format) + " -DBLOCKS=" + std::to_string(blocks);
  if (few) launch.options += " -DTOKENS=" + std::to_string(op.S);
  launch.args = {BufferArg{op.w.data},
                 BufferArg{op.x},
                 BufferArg{op.y, true},
                 uint64_t{panel_bytes(op.w.format, op.K)},
                 static_cast<int32_t>(op.K),
                 static_cast<int32_t>(op.row_begin),
                 static_cast<int32_t>(op.row_end),
                 static_cast<int32_t>(op.x_stride),
                 static_cast<int32_t>(op.y_stride)};
  if (!few) launch.args.push_back(static_cast<int32_t>(op.S));
  const int64_t rows = 16 * blocks;
  launch.global[0] = static_cast<size_t>((op.row_end - op.row_begin + rows - 1) / rows);
  return launch;
}

}  // namespace

std::vector<KernelLaunch> lower_matmul(const MatMul& op, const LoweringContext& context) {
  validate(op);
  if (op.S == 0 || op.row_begin == op.row_end) return {};
  if (context.family == KernelFamily::simt) return lower_matmul_simt(op, context);
  return {lower_simd(op)};
}

}  // namespace tandem::gpu
