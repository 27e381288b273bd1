// ExpertLists: one work-item (OpenCL simd) or one work-group.
#include <utility>

#include "engine/device/gpu/lower.h"
#include "engine/device/gpu/lower_support.h"

namespace tandem::gpu {

// One group makes all lists, because the begin of each list depends on the lengths of all lists in front of it.
std::vector<KernelLaunch> lower_expert_lists(const ExpertLists& op, const LoweringContext& context) {
  if (op.S == 0) return {};
  const std::string object =
      "expert_lists S=" + std::to_string(op.S) + " E=" + std::to_string(op.E) + " k=" + std::to_string(op.k);
  TANDEM_CHECK(op.S > 0 && op.E > 0 && op.k > 0, "malformed operator: " + object);
  require_countable(op.S * op.k, TANDEM_MAX_CHOICES, context, "choices of all tokens:", object);
  if (context.shaders && op.E > TANDEM_MAX_EXPERTS) {
    throw Error("the shaders count the choices of at most " + std::to_string(TANDEM_MAX_EXPERTS) + " experts", object,
                "use another device for it");
  }
  KernelLaunch launch;
  launch.source = launch.kernel = in_family("expert_lists", context.family);
  launch.args = {BufferArg{op.ids}, BufferArg{op.lists, true}, narrow(op.S * op.k), narrow(op.E)};
  const size_t local = context.family == KernelFamily::simt ? kWorkGroup : 1;
  launch.global = launch.local = {local, 1, 1};
  return only(std::move(launch));
}

}  // namespace tandem::gpu
