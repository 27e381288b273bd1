#include "engine/device/gpu/fused.h"

#include <utility>

namespace tandem::gpu {
namespace {

using Fusion = std::optional<LoweredRun> (*)(std::span<const Operator>, const LoweringContext&);

// The first that fits is taken.
constexpr Fusion kFusions[] = {fuse_rope_append, fuse_product_end, fuse_codes};

bool may_be_fused(const Operator& first, const LoweringContext& context) {
  return context.family == KernelFamily::simt && tokens_of(first) > 0 && tokens_of(first) <= kSmallBatch;
}

bool has_groups(const KernelLaunch& launch) { return launch.global[0] * launch.global[1] * launch.global[2] != 0; }

}  // namespace

LoweredRun lower_first(std::span<const Operator> rest, const LoweringContext& context) {
  if (may_be_fused(rest.front(), context)) {
    for (const Fusion fusion : kFusions) {
      if (auto run = fusion(rest, context)) return *std::move(run);
    }
  }
  return {0, 1, lower(rest.front(), context)};
}

std::vector<LoweredRun> lower_program(std::span<const Operator> operators, const LoweringContext& context) {
  std::vector<LoweredRun> runs;
  runs.reserve(operators.size());
  for (size_t at = 0; at < operators.size(); at = runs.back().end) {
    LoweredRun run = lower_first(operators.subspan(at), context);
    std::erase_if(run.launches, [](const KernelLaunch& launch) { return !has_groups(launch); });
    for (KernelLaunch& launch : run.launches) launch.op += at;
    run.begin += at, run.end += at;
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace tandem::gpu
