#include "engine/device/gpu/launch.h"
#include "engine/device/gpu/packed_options.h"
#include "sync/error.h"

namespace tandem::gpu {

std::vector<KernelLaunch> lower_embed(const Embed& op, const LoweringContext& context) {
  if (op.S < 0 || op.H <= 0 || op.H != op.w.columns) {
    throw Error("malformed operator: H must be the width of the embedding",
                "embed S=" + std::to_string(op.S) + " H=" + std::to_string(op.H) + ", weight [" +
                    std::to_string(op.w.rows) + ", " + std::to_string(op.w.columns) + "]");
  }
  if (op.S == 0) return {};
  // A CPU work-item takes a run of columns, so that the group's scale is read once; on a GPU neighbours take
  // neighbouring columns.
  const int32_t columns = context.family == KernelFamily::simd ? 32 : 1;
  KernelLaunch launch;
  launch.source = launch.kernel = "embed";
  launch.options = "-DKIND=" + std::to_string(static_cast<int>(op.w.format.kind));
  if (!op.w.format.dense()) launch.options.append(" ").append(packed_options(op.w.format));
  launch.args = {BufferArg{op.w.data},
                 BufferArg{op.ids},
                 BufferArg{op.y, true},
                 uint64_t{panel_bytes(op.w.format, op.H)},
                 static_cast<int32_t>(op.w.rows),
                 static_cast<int32_t>(op.H),
                 columns};
  launch.global = {static_cast<size_t>((op.H + columns - 1) / columns), static_cast<size_t>(op.S), 1};
  return {launch};
}

}  // namespace tandem::gpu
