// The cost of the NPU's part in one matmul beyond the work of both sides (H7). The solver takes T_sync and T_copy from
// it (H9). The model clock adds each part where it falls due: on the NPU before and behind a matmul, and on the GPU's
// next kernel.
//
// Reading of the paper: neighbouring kernels on different processors need synchronisation (4.3), and H9 counts
// T_sync and T_copy once for each matmul. So the CPU hands a matmul over before its first graph, and notices the end
// of its last one. Graphs between these follow each other on the NPU. Each has its own launch, which counts as time
// of the NPU.
//
// Contract: a pure function. Seconds.
#pragma once

#include <cstdint>

#include "engine/plan/model_clock/soc_profile.h"
#include "engine/plan/plan.h"

namespace tandem {

enum class SyncCost : uint8_t { fast, slow };

struct JoinCost {
  double copy_seconds = 0;    // a driver copy, before the first graph
  double start_seconds = 0;   // handing over, before the first graph
  double end_seconds = 0;     // from the end of the last graph until it is noticed
  double resume_seconds = 0;  // more for the GPU's next kernel, because the GPU's queue ran empty meanwhile

  double before() const { return copy_seconds + start_seconds; }
  double sync_seconds() const {
    return start_seconds + end_seconds + resume_seconds;
  }  // T_sync; T_copy is copy_seconds
};

// Fast: sync.fast_seconds on either side. Slow: a driver copy before, a blocking wait behind. The GPU's queue runs
// empty if the NPU dominates, and always with slow synchronisation.
JoinCost join_cost(const SocProfile& profile, SyncCost sync, Dominant dominant);

}  // namespace tandem
