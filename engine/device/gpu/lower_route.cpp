// Route: one launch, a token to a work-item.
#include <utility>

#include "engine/device/gpu/lower.h"
#include "engine/device/gpu/lower_support.h"

namespace tandem::gpu {

// Every sum of a token is one chain in ascending order of experts (docs/numbers.md), so a token has one work-item.
std::vector<KernelLaunch> lower_route(const Route& op, const LoweringContext& context) {
  if (op.S == 0) return {};
  const std::string object =
      "route S=" + std::to_string(op.S) + " E=" + std::to_string(op.E) + " k=" + std::to_string(op.k);
  TANDEM_CHECK(op.S > 0 && op.k > 0 && op.k <= op.E && op.k <= kMostChoices, "malformed operator: " + object);
  TANDEM_CHECK(op.groups > 0 && op.groups <= kMostGroups && op.E % op.groups == 0 && op.groups_used <= op.groups,
               "groups of experts: " + object);
  require_countable(op.E, TANDEM_MAX_EXPERTS, context, "a layer's experts:", object);
  require_countable(op.k, TANDEM_MAX_CHOICES_OF_TOKEN, context, "a token's experts:", object);
  KernelLaunch launch;
  launch.source = launch.kernel = "route";
  launch.options = defines({{"GATING", static_cast<int64_t>(op.gating)}, {"NORMALISED", op.normalised}});
  // The array of keys is as long as the layer's experts are many, so their number is a constant of such kernels.
  if (op.by_keys()) launch.options += ' ' + defines({{"BIASED", op.biased}, {"GROUPS", op.groups}, {"EXPERTS", op.E}});
  launch.args = {BufferArg{op.x},
                 BufferArg{op.biased ? op.bias : op.x},
                 BufferArg{op.ids, true},
                 BufferArg{op.weights, true},
                 narrow(op.S),
                 narrow(op.E),
                 narrow(op.k),
                 narrow(op.x_stride),
                 narrow(op.groups_used),
                 op.scale,
                 2 * kSparseMixerJitter};
  const bool simt = context.family == KernelFamily::simt;
  launch.local = {simt ? kWorkGroup : 1, 1, 1};
  // A group of a shader takes 64 tokens in both families; OpenCL's simd work-item takes one.
  const int64_t tokens_of_group = simt || context.shaders ? kWorkGroup : 1;
  launch.global = {ceil_div(op.S, tokens_of_group) * launch.local[0], 1, 1};
  return only(std::move(launch));
}

}  // namespace tandem::gpu
