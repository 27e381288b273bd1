// Glu: one launch over runs of every row.
#include <utility>

#include "engine/device/gpu/lower.h"
#include "engine/device/gpu/lower_support.h"

namespace tandem::gpu {

std::string unit_options(const Glu& op) {
  return defines(
      {{"ROUND_F16", op.round_f16}, {"ACTIVATION", static_cast<int64_t>(op.activation)}, {"GATED", op.gated}});
}

std::vector<KernelLaunch> lower_glu(const Glu& op, const LoweringContext& context) {
  if (op.S == 0) return {};
  TANDEM_CHECK(op.S > 0 && op.rows > 0 && op.I > 0, "a gated unit of nothing");
  const RowCut cut = cut_rows(op.I, context.family, context.compute_units);
  KernelLaunch launch;
  launch.source = launch.kernel = in_family("glu", context.family);
  launch.options = unit_options(op);
  launch.args = {BufferArg{op.gate},     BufferArg{op.up},     BufferArg{op.y, true}, narrow(op.I),
                 narrow(op.gate_stride), narrow(op.up_stride), narrow(op.y_stride),   narrow(cut.chunk)};
  launch.global = {cut.global, static_cast<size_t>(op.S * op.rows), 1};
  launch.local = {cut.local, 1, 1};
  return only(std::move(launch));
}

}  // namespace tandem::gpu
