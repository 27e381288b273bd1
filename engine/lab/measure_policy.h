// Measures one waiting policy of one device with steps of one length.
//
// Contract: the calling thread waits, on the core where the caller put it. Before each step it keeps its core busy for
// `pause`. Meanwhile the device goes to rest, and what arm() queued gets into place. So it measures a hand-over in the
// middle of other work, not one in a tight loop. Every wait is bounded. A step that the probe finds lost, late or wrong
// ends the row, which then says so. Only `check` may throw (called between steps: an interruption).
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/lab/results.h"

namespace tandem::sync_lab {

struct RowRequest {
  sync::Policy policy = sync::Policy::blocking;
  double work_seconds = 0;
  int rounds = 0;                // of each pass; 0: depends on the length of a step
  double row_seconds = 1;        // a pass ends early after this time
  double chain_seconds = 0.03;   // approximate length of a run of steps without a rest
  double neighbour_seconds = 0;  // 0: no neighbour is measured
  int waiter_core = 0;
  // A thread spins on each of these while the row is measured, but not while its steps are calibrated.
  std::vector<int> spinner_cores;
  std::chrono::microseconds pause{100};
  std::chrono::milliseconds deadline{10000};
  std::function<void()> check;
};

int default_rounds(double work_seconds, bool quick);  // pure

SyncRow measure_policy(Device& device, const RowRequest& request);

// Measures a launch and its end through the driver, whatever policy the request names. Used where a policy cannot be
// measured by itself.
SyncRow measure_launch(Device& device, const RowRequest& request);

}  // namespace tandem::sync_lab
