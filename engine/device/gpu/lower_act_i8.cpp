// Products with 8-bit activations on GPUs. One launch makes the codes of all rows of x, in the device's own memory, and
// another one multiplies them. The simd shaders have one form for any number of tokens.
#include <utility>

#include "engine/device/gpu/lower.h"
#include "engine/device/gpu/lower_support.h"
#include "engine/device/gpu/product_end.h"
#include "engine/device/gpu/row_pieces.h"
#include "packed/act_i8.h"

namespace tandem::gpu {
namespace {

constexpr int64_t kWordsOfGroup = sizeof(ActBlock) / sizeof(uint32_t);
// simd: the most tokens whose sums a work-item holds besides the words that it decodes while reading.
constexpr int64_t kSmallActBatch = 3;
constexpr int64_t kTokensOfItem = 4;  // simd shaders: tokens of one work-item
// simt: the most tokens whose sums a work-item holds. One work-item of such a batch computes whole runs of a row.
constexpr int64_t kSmallSimtBatch = 4;

constexpr size_t kUnitsGroup = 128;  // work-items of matmul_units_simt.cl: four warps

int64_t words_of_row(int64_t K) { return K / kActGroup * kWordsOfGroup; }

// The rows of x: slot i of token s. slots is 1 when all slots share a row.
struct ActRows {
  Operand x;
  int64_t S = 0, slots = 1, K = 0, stride = 0, slot_stride = 0;

  BufferArg codes(bool writes) const {
    return {{}, writes, static_cast<size_t>(S * slots * words_of_row(K)) * sizeof(uint32_t)};
  }
};

// The launch that makes the codes: a work-item for each row (simd), or for each group of codes in it (simt
// and shaders).
KernelLaunch code_launch(const ActRows& rows, const LoweringContext& context) {
  const bool by_group = context.family == KernelFamily::simt || context.shaders;
  KernelLaunch launch;
  launch.source = launch.kernel = context.shaders ? "act_i8" : in_family("act_i8", context.family);
  launch.args = {BufferArg{rows.x},  rows.codes(true),    narrow(rows.K),
                 narrow(rows.slots), narrow(rows.stride), narrow(rows.slot_stride)};
  const auto tokens = static_cast<size_t>(rows.S), slots = static_cast<size_t>(rows.slots);
  launch.global = {tokens, slots, 1};
  if (by_group) {
    launch.local = {kWorkGroup, 1, 1};
    launch.global = {round_up(static_cast<size_t>(rows.K / kActGroup), kWorkGroup), tokens, slots};
  }
  return launch;
}

// The product of codes with weights of one format, without its arguments and grid. An OpenCL GPU with proven packed dot
// products gets them by an option. OpenCL's CPU kernels get their registers, the proven instructions for bytes, and the
// processor's way of prefetching.
KernelLaunch product_launch(const PackedFormat& format, const char* kernel, const LoweringContext& context) {
  KernelLaunch launch;
  launch.source = in_family("matmul_act8", context.family);
  launch.kernel = kernel;
  launch.options = packed_options(format) + " " + define("BITS", format.kind == PackedKind::i4 ? 4 : 8);
  if (context.family == KernelFamily::simt && !context.shaders && context.packed_dot != PackedDot::none)
    launch.options += " " + define("HAS_PACKED_DOT", static_cast<int>(context.packed_dot));
  if (context.family == KernelFamily::simd && !context.shaders) {
    launch.options += " " + define("REGISTERS", context.vector_registers);
    if (const std::string how = byte_products_option(context.byte_products); !how.empty()) launch.options += " " + how;
    if (context.processor.foresees_long_runs) launch.options += " -DFETCHES_SMALL_BATCH=0";
  }
  return launch;
}

// Sets the grid for `rows` rows of a matrix, or of each matrix of a stack, and the work-group. For a small batch
// (small_batch_tokens > 0), simt groups compute several runs of columns at once and keep their sums in local memory.
void set_panels(KernelLaunch& launch, int64_t rows, int64_t small_batch_tokens, const PackedMatrix& matrix,
                const LoweringContext& context) {
  const size_t panels = ceil_div(rows, kPanelRows);
  const bool row_pieces = in_row_pieces(matrix, context);
  // A matrix unit adds 32 columns at once, so they must share a scale.
  const MatrixUnits units =
      row_pieces && matrix.format.group == kActGroup && !context.shaders ? context.matrix_units : MatrixUnits::none;
  if (context.family == KernelFamily::simd) {
    launch.local = {context.shaders ? kWorkGroup : 1, 1, 1};
    launch.global = {panels * launch.local[0], 1, 1};
  } else {
    require_matmul_groups(context);
    if (small_batch_tokens > 0) {
      set_small_batch_grid(rows, small_batch_tokens, row_pieces, context, launch);
    } else {
      if (row_pieces) read_row_pieces(launch);
      launch.local = {kMatMulGroup, 1, 1};
      if (units != MatrixUnits::none) {
        launch.options += " " + define("MATRIX_UNITS", static_cast<int>(units));
        launch.local = {kUnitsGroup, 1, 1};
      }
      launch.global = {panels * launch.local[0], 1, 1};
    }
  }
  // This comes last, because "_dot" ends the names of whole kernels: matmul_small_batch_wide_dot.
  if (context.shaders && context.packed_dot != PackedDot::none) launch.kernel += "_dot";
}

}  // namespace

const char* byte_products_option(ByteProducts how) {
  if (how == ByteProducts::vpdpbusd) return "-DHAS_VPDPBUSD=1";
  return how == ByteProducts::vpmaddubsw ? "-DHAS_VPMADDUBSW=1" : "";
}

// Few tokens get a kernel with a constant number of tokens. More tokens get the matrix product; its grid has tiles of
// tokens, except in simd kernels of OpenCL, which loop over them.
std::vector<KernelLaunch> lower_act_i8(const MatMul& op, const LoweringContext& context) {
  const bool simt = context.family == KernelFamily::simt, by_row = !simt && context.shaders;
  const bool small_batch = !by_row && op.S <= (simt ? kSmallSimtBatch : kSmallActBatch);
  const ActRows rows{op.x, op.S, 1, op.K, op.x_stride, 0};
  KernelLaunch launch = product_launch(op.w.format, small_batch ? "matmul_small_batch" : "matmul_gemm", context);
  // TOKENS is a constant of the kernel: all tokens of a small batch, or the tokens of a work-item of a shader.
  if (small_batch || by_row)
    launch.options += " " + define("TOKENS", small_batch ? op.S : std::min(op.S, kTokensOfItem));
  launch.args = {
      BufferArg{op.w.data}, rows.codes(false),    BufferArg{op.y, true}, uint64_t{panel_bytes(op.w.format, op.K)},
      narrow(op.K),         narrow(op.row_begin), narrow(op.row_end),    narrow(words_of_row(op.K)),
      narrow(op.y_stride)};
  if (!small_batch) launch.args.push_back(narrow(op.S));
  set_panels(launch, op.row_end - op.row_begin, small_batch ? op.S : 0, op.w, context);
  if (takes_end(op, launch, context)) add_no_end(op, launch);
  if (by_row) launch.global[1] = ceil_div(op.S, kTokensOfItem);
  if (simt && !small_batch) launch.global[1] = ceil_div(op.S, kTokensOfTile);
  return {code_launch(rows, context), std::move(launch)};
}

// Few choices get a matrix-vector product each, from their ids. Many choices get a matrix product for each expert, from
// the lists.
std::vector<KernelLaunch> lower_act_i8(const GroupedMatMul& op, bool small_batch, const LoweringContext& context) {
  const bool simt = context.family == KernelFamily::simt, by_choice = small_batch || (!simt && context.shaders);
  // If all slots of a token share a row of x, its codes are made once. The step from slot to slot is then 0.
  const bool shared = op.x_slot == 0;
  const int64_t words = words_of_row(op.w.columns), slots = shared ? 1 : op.slots;
  const ActRows rows{op.x, op.S, slots, op.w.columns, op.x_stride, op.x_slot};
  KernelLaunch launch = product_launch(op.w.format, by_choice ? "grouped_small_batch" : "grouped_gemm", context);
  if (!context.shaders) launch.options += " -DGROUPED=1";
  launch.options += " " + define(by_choice ? "HAS_IDS" : "HAS_LISTS", op.routed);
  if (by_choice) launch.options += " -DTOKENS=1";
  launch.args = {BufferArg{op.w.data},
                 rows.codes(false),
                 BufferArg{op.y, true},
                 BufferArg{by_choice ? op.ids : op.lists},
                 uint64_t{panel_bytes(op.w.format, op.w.columns)},
                 uint64_t{op.w.matrix_bytes()},
                 narrow(op.w.columns),
                 narrow(op.w.rows)};
  if (!by_choice) launch.args.push_back(narrow(op.w.count));
  launch.args.insert(launch.args.end(), {narrow(op.slots), narrow(slots * words), narrow(shared ? 0 : words),
                                         narrow(op.y_stride), narrow(op.y_slot)});
  if (!by_choice) launch.args.push_back(narrow(op.S));
  set_panels(launch, op.w.rows, by_choice ? 1 : 0, op.w.matrix(0), context);
  if (by_choice) {
    launch.global[1] *= static_cast<size_t>(op.slots);
    launch.global[2] = static_cast<size_t>(op.S);
  } else if (simt) {
    set_tiles(op, kTokensOfTile, launch);
  } else {  // a matrix for each work-group; at most this many matrices are chosen
    launch.global[1] = static_cast<size_t>(std::min(op.w.count, op.S * op.slots));
  }
  return {code_launch(rows, context), std::move(launch)};
}

}  // namespace tandem::gpu
