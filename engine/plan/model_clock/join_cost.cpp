#include "engine/plan/model_clock/join_cost.h"

namespace tandem {

// H7. A fast join costs one flag on either side of the NPU's work. A slow one copies the input by the driver, and
// blocks until the NPU has ended. Only a plan that the GPU dominates, with fast joins, keeps the GPU's queue filled.
// Every other plan pays for the empty queue (H13).
JoinCost join_cost(const SocProfile& profile, SyncCost sync, Dominant dominant) {
  const bool slow = sync == SyncCost::slow;
  JoinCost cost;
  if (slow) {
    cost.copy_seconds = profile.sync.copy_seconds;
    cost.end_seconds = profile.sync.blocking_seconds;
  } else {
    cost.start_seconds = cost.end_seconds = profile.sync.fast_seconds;
  }
  if (slow || dominant == Dominant::npu) cost.resume_seconds = profile.gpu.submit_empty_seconds;
  return cost;
}

}  // namespace tandem
