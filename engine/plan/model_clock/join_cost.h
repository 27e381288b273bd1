// What the NPU's part in one matmul costs beyond the work of both sides (H7): one function for the solver, whose T_sync
// and T_copy it gives (H9), and for the model clock, which lets the devices pay it where it falls due.
//
// Reading of the paper: synchronisation is needed where neighbouring kernels run on different processors (4.3), and H9
// has T_sync and T_copy once a matmul. So the CPU hands a matmul over before its first graph and notices the end of its
// last one; graphs in turn between them follow each other on the NPU, each with its launch, which is time of the NPU.
#pragma once

#include <cstdint>

#include "engine/plan/model_clock/soc_profile.h"
#include "engine/plan/plan.h"

namespace tandem {

enum class SyncCost : uint8_t { fast, slow };

struct JoinCost {
  double copy_seconds = 0;    // a driver copy, before the first graph
  double start_seconds = 0;   // handing over, before the first graph
  double end_seconds = 0;     // until the end of the last graph is noticed
  double resume_seconds = 0;  // of the GPU's next kernel, where its queue ran empty meanwhile

  double before() const { return copy_seconds + start_seconds; }
  double sync_seconds() const {
    return start_seconds + end_seconds + resume_seconds;
  }  // T_sync; T_copy is copy_seconds
};

// Fast: sync.fast_seconds on either side. Slow: a driver copy before, a blocking wait behind. The GPU's queue runs
// empty where the NPU dominates, and always with slow synchronisation.
JoinCost join_cost(const SocProfile& profile, SyncCost sync, Dominant dominant);

}  // namespace tandem
