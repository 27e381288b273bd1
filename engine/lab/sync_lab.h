// The laboratory: measures every waiting policy of the requested devices with steps of several lengths. It compares
// them with what the same machine achieves without a driver.
//
// Contract: opens the devices one after the other, each alone, so that no device holds another one's cores. The calling
// thread waits for them. Meanwhile it is pinned to a core that the device does not use, if there is one; afterwards it
// may use its own cores again. The caller has set the drivers' cores before (configure_drivers).
// Bounded: every wait has a deadline, and a pass of a row ends after about RowRequest::row_seconds. A device that
// cannot be opened is a result with its problem. Failure: exceptions of `check`, between steps.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/device/registry.h"
#include "engine/lab/results.h"
#include "engine/run/pass/core_layout.h"

namespace tandem::sync_lab {

struct LabOptions {
  std::vector<std::string> devices;    // ids
  std::vector<sync::Policy> policies;  // empty: all
  std::vector<double> work_seconds{0, 10e-6, 100e-6, 1e-3, 10e-3};
  int rounds = 0;      // steps of each row; 0: depends on their length
  bool quick = false;  // few rounds and short runs: shows that everything works
  CoreLayout layout;
  DeviceOptions device_options;
  std::function<void()> check;                            // between steps; throws to end the run
  std::function<void(const std::string& what)> progress;  // before each row
};

LabResult run_sync_lab(const LabOptions& options);

// A core for the waiting thread that the device does not work on; the layout's orchestrator if possible. Pure.
int waiter_core(const CoreLayout& layout, const std::vector<int>& usable, const std::vector<int>& device_cores);

}  // namespace tandem::sync_lab
