// Products with 8-bit activations on GPUs. One launch makes the codes of all rows of x, in the device's own memory, and
// another one multiplies them.
#include <utility>

#include "engine/device/gpu/lower.h"
#include "engine/device/gpu/lower_support.h"
#include "engine/device/gpu/product_end.h"
#include "engine/device/gpu/product_kernels.h"
#include "engine/device/gpu/row_pieces.h"
#include "packed/act_i8.h"

namespace tandem::gpu {
namespace {

constexpr int64_t kWordsOfGroup = sizeof(ActBlock) / sizeof(uint32_t);
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

}  // namespace

const char* byte_products_option(ByteProducts how) {
  if (how == ByteProducts::vpdpbusd) return "-DHAS_VPDPBUSD=1";
  return how == ByteProducts::vpmaddubsw ? "-DHAS_VPMADDUBSW=1" : "";
}

std::vector<KernelLaunch> lower_act_i8(const MatMul& op, const LoweringContext& context) {
  const ProductShape shape{
      .format = op.w.format, .act_i8 = true, .tokens = op.S, .row_pieces = in_row_pieces(op.w, context)};
  const ProductKernel& kernel = product_kernel(shape, context);
  const ActRows rows{op.x, op.S, 1, op.K, op.x_stride, 0};
  KernelLaunch launch = product_launch(kernel, shape, op.row_end - op.row_begin, context);
  launch.args = {
      BufferArg{op.w.data}, rows.codes(false),    BufferArg{op.y, true}, uint64_t{panel_bytes(op.w.format, op.K)},
      narrow(op.K),         narrow(op.row_begin), narrow(op.row_end),    narrow(words_of_row(op.K)),
      narrow(op.y_stride)};
  if (!kernel.is_small_batch()) launch.args.push_back(narrow(op.S));
  set_tiles(op, kernel, launch);
  if (takes_end(op, launch, context)) add_no_end(op, launch);
  return {code_launch(rows, context), std::move(launch)};
}

// A small batch of choices gets a matrix-vector product each, from their ids. More choices get a matrix product for
// each expert, from the lists.
std::vector<KernelLaunch> lower_act_i8(const GroupedMatMul& op, bool small_batch, const LoweringContext& context) {
  const ProductShape shape{.format = op.w.format,
                           .grouped = true,
                           .act_i8 = true,
                           .tokens = small_batch ? 1 : kAnyTokens,
                           .row_pieces = in_row_pieces(op.w.matrix(0), context),
                           .listed_only = op.listed_only};
  const ProductKernel& kernel = product_kernel(shape, context);
  const bool by_choice = kernel.is_small_batch();
  // If all slots of a token share a row of x, its codes are made once. The step from slot to slot is then 0.
  const bool shared = op.x_slot == 0;
  const int64_t words = words_of_row(op.w.columns), slots = shared ? 1 : op.slots;
  const ActRows rows{op.x, op.S, slots, op.w.columns, op.x_stride, op.x_slot};
  KernelLaunch launch = product_launch(kernel, shape, op.w.rows, context);
  name_choices(op, kernel, context, launch);
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
  set_tiles(op, kernel, 1, launch);
  return {code_launch(rows, context), std::move(launch)};
}

}  // namespace tandem::gpu
