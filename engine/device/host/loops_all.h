// One variant of the loops. The including file defines its name and is compiled for its instruction set.
#include "engine/device/host/loops.h"
#include "engine/device/host/loops_lanes.h"
// These headers build on the lanes.
#include "engine/device/host/loops_attention.h"
#include "engine/device/host/loops_experts.h"
#include "engine/device/host/loops_logits.h"
#include "engine/device/host/loops_rows.h"

namespace tandem::host {

const HostLoops LOOPS_TABLE = {LOOPS_SET,    rms_norm,  kAttendTile, kFastTile, attend,  attend_splits,
                               merge_splits, rope,      glu,         scale,     softmax, route,
                               expert_sum,   to_halves, scan_logits, sum_of_exp};

}  // namespace tandem::host
