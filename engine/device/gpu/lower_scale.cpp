// Scale: one launch over runs of every row. The factors of experts have a kernel of their own.
#include <utility>

#include "engine/device/gpu/lower.h"
#include "engine/device/gpu/lower_support.h"

namespace tandem::gpu {

std::vector<KernelLaunch> lower_scale(const Scale& op, const LoweringContext& context) {
  if (op.S == 0) return {};
  TANDEM_CHECK(op.S > 0 && op.rows > 0 && op.width > 0, "scale of nothing");
  TANDEM_CHECK(op.chosen ? op.cap == 0 : op.rows == 1, "a cap beside factors of experts, or rows without them");
  const RowCut cut = cut_rows(op.width, context.family, context.compute_units);
  KernelLaunch launch;
  launch.source = in_family("elementwise", context.family);
  if (op.chosen) {
    launch.kernel = in_family("expert_scale", context.family);
    // Ids are not below 0, so they serve as places too.
    launch.args = {
        BufferArg{op.x, true}, BufferArg{op.factors}, BufferArg{op.ids}, BufferArg{op.places ? op.places : op.ids},
        narrow(op.width),      narrow(op.x_stride),   narrow(cut.chunk)};
  } else {
    launch.kernel = in_family("scale", context.family);
    launch.args = {BufferArg{op.x, true}, narrow(op.width), narrow(op.x_stride), narrow(cut.chunk), op.factor, op.cap};
  }
  launch.global = {cut.global, static_cast<size_t>(op.S * op.rows), 1};
  launch.local = {cut.local, 1, 1};
  return only(std::move(launch));
}

}  // namespace tandem::gpu
