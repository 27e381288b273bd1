// TopK: one launch, a row to a work-item (OpenCL simd) or to a work-group.
#include <utility>

#include "engine/device/gpu/lower.h"
#include "engine/device/gpu/lower_support.h"

namespace tandem::gpu {

// simd kernels keep the k best values of a row in 64 places, and simt kernels take k rounds over the row. So k
// is small.
std::vector<KernelLaunch> lower_top_k(const TopK& op, const LoweringContext& context) {
  if (op.S == 0) return {};
  TANDEM_CHECK(op.S > 0 && op.width > 0, "top_k of nothing");
  require_countable(op.width, TANDEM_MAX_ROW, context, "a row of", "top_k S=" + std::to_string(op.S));
  TANDEM_CHECK(op.k > 0 && op.k <= 64 && op.k <= op.width,
               "top_k with k = " + std::to_string(op.k) + " of " + std::to_string(op.width));
  KernelLaunch launch;
  launch.source = launch.kernel = in_family("top_k", context.family);
  launch.args = {BufferArg{op.x}, BufferArg{op.ids, true}, BufferArg{op.values, true}, narrow(op.width),
                 narrow(op.k),    narrow(op.x_stride)};
  const size_t local = context.family == KernelFamily::simt ? kWorkGroup : 1;
  launch.global = {static_cast<size_t>(op.S) * local, 1, 1};
  launch.local = {local, 1, 1};
  return only(std::move(launch));
}

}  // namespace tandem::gpu
