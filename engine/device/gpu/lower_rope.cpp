// Rope: one launch for q or k.
#include <utility>

#include "engine/device/gpu/lower.h"
#include "engine/device/gpu/lower_support.h"

namespace tandem::gpu {

// Two values turn together, so a simt work-item takes one of the rot_dim / 2 pairs of a head. In the simd family, a
// work-item or a group turns all pairs of a token.
std::vector<KernelLaunch> lower_rope(const Rope& op, const LoweringContext& context) {
  if (op.S == 0) return {};
  TANDEM_CHECK(op.S > 0 && op.heads > 0, "rope of nothing");
  TANDEM_CHECK(op.rot_dim > 0 && op.rot_dim % 2 == 0 && op.rot_dim <= op.head_dim,
               "rotated dimensions: " + std::to_string(op.rot_dim));
  require_countable(op.heads * op.rot_dim, TANDEM_MAX_ROW, context,
                    "a token's rotated values:", "rope S=" + std::to_string(op.S));
  KernelLaunch launch;
  launch.source = launch.kernel = in_family("rope", context.family);
  launch.options = define("INTERLEAVED", op.layout == RopeLayout::interleaved);
  launch.args = {BufferArg{op.x, true}, BufferArg{op.positions}, BufferArg{op.table}, narrow(op.heads),
                 narrow(op.head_dim),   narrow(op.rot_dim),      narrow(op.x_stride)};
  const auto S = static_cast<size_t>(op.S);
  if (context.family == KernelFamily::simt) {
    launch.global = {round_up(static_cast<size_t>(op.heads * op.rot_dim / 2), kWorkGroup), S, 1};
    launch.local = {kWorkGroup, 1, 1};
  } else {
    launch.global = {S, 1, 1};
  }
  return only(std::move(launch));
}

}  // namespace tandem::gpu
