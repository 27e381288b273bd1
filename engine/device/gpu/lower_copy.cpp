// Copy: one launch over runs of every group of every row.
#include <utility>

#include "engine/device/gpu/lower.h"
#include "engine/device/gpu/lower_support.h"

namespace tandem::gpu {

// One launch over rows, groups and runs of a row's values. How long a run is depends on the family: vectors of a CPU
// core, or work-groups of a GPU.
std::vector<KernelLaunch> lower_copy(const Copy& op, const LoweringContext& context) {
  if (op.S == 0) return {};
  TANDEM_CHECK(op.S > 0 && op.groups > 0 && op.width > 0, "a copy of nothing");
  // A copy that only rounds in place has one argument: two arguments with one place would look like a hazard.
  const bool in_place = op.x == op.y && op.x_stride == op.y_stride && op.x_group == op.y_group;
  const RowCut cut = cut_rows(op.width, context.family, context.compute_units);
  KernelLaunch launch;
  launch.source = launch.kernel = in_family("copy", context.family);
  launch.options = defines({{"ROUND_F16", op.round_f16}, {"IN_PLACE", in_place}});
  launch.args = {BufferArg{in_place ? Operand{} : op.x},
                 BufferArg{op.y, true},
                 narrow(op.width),
                 narrow(op.x_stride),
                 narrow(op.x_group),
                 narrow(op.y_stride),
                 narrow(op.y_group),
                 narrow(cut.chunk)};
  launch.global = {cut.global, static_cast<size_t>(op.S), static_cast<size_t>(op.groups)};
  launch.local = {cut.local, 1, 1};
  return only(std::move(launch));
}

}  // namespace tandem::gpu
