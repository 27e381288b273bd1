// GroupedMatMul: a matrix-vector product for each choice when they are few. Otherwise matrix products over the choices
// of each expert, or over all tokens of each head.
#include <algorithm>
#include <utility>

#include "engine/device/gpu/lower.h"
#include "engine/device/gpu/lower_support.h"
#include "engine/device/gpu/product_kernels.h"
#include "engine/device/gpu/row_pieces.h"
#include "packed/act_i8.h"

namespace tandem::gpu {
namespace {

std::string describe(const GroupedMatMul& op) {
  return "grouped_matmul S=" + std::to_string(op.S) + " slots=" + std::to_string(op.slots) + " of " +
         std::to_string(op.w.count) + " x [" + std::to_string(op.w.rows) + ", " + std::to_string(op.w.columns) + "] " +
         to_string(op.w.format);
}

void validate(const GroupedMatMul& op) {
  auto require = [&](bool holds, const char* what) {
    if (!holds) throw Error(std::string("malformed operator: ") + what, describe(op));
  };
  require(op.S >= 0 && op.slots > 0 && op.w.count > 0 && op.w.rows > 0 && op.w.columns > 0, "sizes must be positive");
  require(op.routed || op.slots == op.w.count, "a matrix for each slot, or ids");
  require(op.routed || !op.lists, "lists of choices that nobody made");
  require(op.lists || !op.listed_only, "lists of the choices that are multiplied");
  require(op.x_slot == 0 || op.x_slot >= op.w.columns || op.slots == 1, "slots of x must not overlap");
  require(!op.act_i8 || misfit_act_i8(op.w.format) == nullptr, "dense weights have no integers");
  require(op.y_slot >= op.w.rows || op.slots == 1, "slots of y must not overlap");
}

// Grouped products are never cut: choices lie anywhere in x and y, and each of them may name any matrix.
void require_within_reach(const GroupedMatMul& op, const LoweringContext& context) {
  const auto object = [&op] { return describe(op); };
  constexpr int64_t kFloat = sizeof(float);
  pieces_within_reach(static_cast<int64_t>(op.w.bytes()), context, "a stack of weights", object);
  pieces_within_reach(kFloat * ((op.S - 1) * op.x_stride + (op.slots - 1) * op.x_slot + op.w.columns), context,
                      "the rows of all slots", object);
  pieces_within_reach(kFloat * ((op.S - 1) * op.y_stride + (op.slots - 1) * op.y_slot + op.w.rows), context,
                      "the results of all slots", object);
}

// Up to this mean number of choices for each matrix, decoding the matrix for each choice takes less time than the
// matrix product. (PoCL and lavapipe, Q4_1, Q6_K and F16: both take as long with 3 to 5.)
constexpr double kFewChoices = 3;
// 8-bit activations: up to this many tokens, a head's matrix is read again for each token.
constexpr int64_t kTokensOfHeads = 3;

// is_small: use matrix-vector products. tokens: those that one work-item holds in registers, one for a choice, or all
// that a head's matrix is multiplied with.
struct ChoiceBatch {
  bool is_small;
  int64_t tokens;
};
ChoiceBatch batch_of(const GroupedMatMul& op) {
  const auto choices = static_cast<double>(op.S * op.slots);
  if (op.listed_only) return {false, 1};
  if (op.routed) return {!op.lists || choices <= kFewChoices * op.expected_matrices(), 1};
  return {op.S <= kSmallBatch, op.S};
}

// The most tiles of `size` choices that can exist: every expert's last tile may have a single choice. So each expert
// can leave size - 1 places of a tile empty.
int64_t most_tiles(const GroupedMatMul& op, int64_t size) {
  const int64_t choices = op.S * op.slots, experts = std::min(op.w.count, choices);
  return (choices + experts * (size - 1)) / size;
}

}  // namespace

// GROUPED belongs to kernels/, whose files hold the kernels of both operators.
void name_choices(const GroupedMatMul& op, const ProductKernel& kernel, const LoweringContext& context,
                  KernelLaunch& launch) {
  if (!context.shaders) launch.options += " -DGROUPED=1";
  launch.options += " " + define(kernel.is_small_batch() ? "HAS_IDS" : "HAS_LISTS", op.routed);
}

// Tiles, routed: dimension 1 has the tiles of all matrices, one matrix behind the other. There are as many groups as
// there can be tiles, and groups past the last tile do nothing. Tiles, not routed: every matrix has the same tiles, and
// dimension 2 counts the matrices. No tiles: a matrix for each group; at most so many matrices are chosen.
void set_tiles(const GroupedMatMul& op, const ProductKernel& kernel, int64_t tokens, KernelLaunch& launch) {
  if (kernel.is_small_batch()) {
    launch.global[1] *= static_cast<size_t>(op.slots);
    launch.global[2] = static_cast<size_t>(op.S / tokens);
  } else if (const int64_t size = kernel.cut.tokens; size > 0) {
    launch.global[1] = op.routed ? static_cast<size_t>(most_tiles(op, size)) : ceil_div(op.S, size);
    launch.global[2] = op.routed ? 1 : static_cast<size_t>(op.slots);
  } else {
    launch.global[1] = static_cast<size_t>(std::min(op.w.count, op.S * op.slots));
  }
}

// A small batch of choices takes the kernel that reads ids. More choices take the one that reads lists.
std::vector<KernelLaunch> lower_grouped_matmul(const GroupedMatMul& op, const LoweringContext& context) {
  validate(op);
  if (op.S == 0) return {};
  require_countable(op.w.columns, TANDEM_MAX_K, context, "K", [&op] { return describe(op); });
  require_countable(op.w.count, TANDEM_MAX_EXPERTS, context, "matrices:", [&op] { return describe(op); });
  require_within_reach(op, context);
  const ChoiceBatch batch = batch_of(op);
  if (op.act_i8) return lower_act_i8(op, op.routed ? batch.is_small : op.S <= kTokensOfHeads, context);
  const ProductShape shape{.format = op.w.format,
                           .grouped = true,
                           .tokens = batch.is_small ? batch.tokens : kAnyTokens,
                           .row_pieces = in_row_pieces(op.w.matrix(0), context)};
  const ProductKernel& kernel = product_kernel(shape, context);
  KernelLaunch launch = product_launch(kernel, shape, op.w.rows, context);
  name_choices(op, kernel, context, launch);
  launch.args = {BufferArg{op.w.data},
                 BufferArg{op.x},
                 BufferArg{op.y, true},
                 BufferArg{batch.is_small ? op.ids : op.lists},
                 uint64_t{panel_bytes(op.w.format, op.w.columns)},
                 uint64_t{op.w.matrix_bytes()},
                 narrow(op.w.columns),
                 narrow(op.w.rows)};
  if (!batch.is_small) launch.args.push_back(narrow(op.w.count));
  launch.args.insert(launch.args.end(), {narrow(op.slots), narrow(op.x_stride), narrow(op.x_slot), narrow(op.y_stride),
                                         narrow(op.y_slot)});
  if (!batch.is_small) launch.args.push_back(narrow(op.S));
  set_tiles(op, kernel, batch.tokens, launch);
  if (batch.is_small && shape.row_pieces && rows_are_aligned(op.x, op.x_stride, op.x_slot))
    launch.options += " -DALIGNED_X=1";
  return only(std::move(launch));
}

}  // namespace tandem::gpu
