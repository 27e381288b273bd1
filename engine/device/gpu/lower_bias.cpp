// Bias: one launch over runs of every row.
#include <utility>

#include "engine/device/gpu/lower.h"
#include "engine/device/gpu/lower_support.h"

namespace tandem::gpu {

std::vector<KernelLaunch> lower_bias(const Bias& op, const LoweringContext& context) {
  if (op.S == 0) return {};
  TANDEM_CHECK(op.S > 0 && op.rows > 0 && op.width > 0, "bias of nothing");
  const RowCut cut = cut_rows(op.width, context.family, context.compute_units);
  KernelLaunch launch;
  launch.source = in_family("elementwise", context.family);
  launch.kernel = in_family("bias", context.family);
  if (op.chosen) launch.options = define("CHOSEN", 1);
  // Kernels without CHOSEN read neither ids nor places. Ids are not below 0, so they serve as places too.
  const Operand& ids = op.chosen ? op.ids : op.bias;
  launch.args = {
      BufferArg{op.x, true}, BufferArg{op.bias},  BufferArg{ids},   BufferArg{op.chosen && op.places ? op.places : ids},
      narrow(op.width),      narrow(op.x_stride), narrow(cut.chunk)};
  launch.global = {cut.global, static_cast<size_t>(op.S * op.rows), 1};
  launch.local = {cut.local, 1, 1};
  return only(std::move(launch));
}

}  // namespace tandem::gpu
