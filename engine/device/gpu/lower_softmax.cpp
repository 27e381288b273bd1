// Softmax: one launch, a row to a work-item (OpenCL simd) or to a work-group.
#include <utility>

#include "engine/device/gpu/lower.h"
#include "engine/device/gpu/lower_support.h"

namespace tandem::gpu {

// A row's maximum and sum need all of it, so a row is never cut.
std::vector<KernelLaunch> lower_softmax(const Softmax& op, const LoweringContext& context) {
  if (op.S == 0) return {};
  TANDEM_CHECK(op.S > 0 && op.width > 0, "softmax of nothing");
  require_countable(op.width, TANDEM_MAX_ROW, context, "a row of", "softmax S=" + std::to_string(op.S));
  KernelLaunch launch;
  launch.source = launch.kernel = in_family("softmax", context.family);
  launch.args = {BufferArg{op.x, true}, narrow(op.width), narrow(op.x_stride)};
  const size_t local = context.family == KernelFamily::simt ? kWorkGroup : 1;
  launch.global = {static_cast<size_t>(op.S) * local, 1, 1};
  launch.local = {local, 1, 1};
  return only(std::move(launch));
}

}  // namespace tandem::gpu
