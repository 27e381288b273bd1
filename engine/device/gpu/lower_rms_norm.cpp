// RmsNorm: one launch, which includes the residual addition.
#include <utility>

#include "engine/device/gpu/lower.h"
#include "engine/device/gpu/lower_support.h"

namespace tandem::gpu {

// A group of values needs the sum over all of them, so it is never cut: one work-group takes a group of a token.
// OpenCL's simd work-groups have a single work-item.
std::vector<KernelLaunch> lower_rms_norm(const RmsNorm& op, const LoweringContext& context) {
  if (op.S == 0) return {};
  TANDEM_CHECK(op.S > 0 && op.groups > 0 && op.width > 0, "rms_norm of nothing");
  require_countable(op.width, TANDEM_MAX_ROW, context, "a row of", "rms_norm S=" + std::to_string(op.S));
  KernelLaunch launch;
  launch.source = launch.kernel = in_family("rms_norm", context.family);
  launch.options = defines(
      {{"HAS_ADD", bool(op.add)}, {"ROUND_F16", op.round_f16}, {"CENTRED", op.centred}, {"HAS_BIAS", op.biased}});
  if (op.own_weights) launch.options += " -DOWN_WEIGHTS=1";
  // x counts as written only with a residual, which the kernel adds to x.
  launch.args = {BufferArg{op.x, static_cast<bool>(op.add)},
                 BufferArg{op.y, true},
                 BufferArg{op.add},
                 BufferArg{op.weight},
                 BufferArg{op.bias},
                 narrow(op.width),
                 narrow(op.x_stride),
                 narrow(op.y_stride),
                 narrow(op.add_stride),
                 op.weight_offset,
                 op.eps,
                 op.add_scale};
  const auto S = static_cast<size_t>(op.S), groups = static_cast<size_t>(op.groups);
  if (context.family == KernelFamily::simt) {
    launch.global = {S * kWorkGroup, groups, 1};
    launch.local = {kWorkGroup, 1, 1};
  } else {
    launch.global = {S, groups, 1};
  }
  return only(std::move(launch));
}

}  // namespace tandem::gpu
