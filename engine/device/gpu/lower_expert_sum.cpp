// ExpertSum: one launch over runs of every row.
#include <utility>

#include "engine/device/gpu/lower.h"
#include "engine/device/gpu/lower_support.h"

namespace tandem::gpu {

std::vector<KernelLaunch> lower_expert_sum(const ExpertSum& op, const LoweringContext& context) {
  if (op.S == 0) return {};
  TANDEM_CHECK(op.S > 0 && op.k > 0 && op.width > 0, "a sum of no experts");
  TANDEM_CHECK(op.shared || !op.gate, "a gate in front of no shared expert");
  require_countable(op.k, TANDEM_MAX_CHOICES_OF_TOKEN, context, "a sum of",
                    "expert_sum S=" + std::to_string(op.S) + " width=" + std::to_string(op.width));
  RowCut cut = cut_rows(op.width, context.family, context.compute_units);
  // Each element takes a loop over the experts, so chunks are shorter than those of other element-wise operators.
  if (cut.chunk > TANDEM_MAX_SUM_CHUNK) cut = {TANDEM_MAX_SUM_CHUNK, ceil_div(op.width, TANDEM_MAX_SUM_CHUNK), 1};
  KernelLaunch launch;
  launch.source = launch.kernel = in_family("expert_sum", context.family);
  // SHARED is 0 without a shared expert, 1 with one, and 2 with one behind a gate.
  launch.options = define("SHARED", op.gate ? 2 : op.shared ? 1 : 0);
  launch.args = {BufferArg{op.x},    BufferArg{op.weights},  BufferArg{op.shared},
                 BufferArg{op.gate}, BufferArg{op.y, true},  narrow(op.width),
                 narrow(op.k),       narrow(op.gate_stride), narrow(cut.chunk)};
  launch.global = {cut.global, static_cast<size_t>(op.S), 1};
  launch.local = {cut.local, 1, 1};
  return only(std::move(launch));
}

}  // namespace tandem::gpu
