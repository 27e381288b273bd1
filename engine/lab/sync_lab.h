// The laboratory: every waiting policy of every device asked for, with steps of several lengths, beside what the same
// machine does without any driver.
//
// Contract
//   Opens the devices one after the other, each alone, so that none holds another one's cores. The calling thread waits
//   for them; meanwhile it is pinned to a core that the device does not use, where there is one, and has its own cores
//   again afterwards. Drivers must have been told their cores (configure_drivers). Bounded: every wait has a deadline,
//   a row ends after about RowRequest::row_seconds a pass. A device that cannot be opened is a result with its problem.
//   Failure: what `check` throws, between steps.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/device/registry.h"
#include "engine/lab/results.h"
#include "engine/run/core_layout.h"

namespace tandem::sync_lab {

struct LabOptions {
  std::vector<std::string> devices;    // ids
  std::vector<sync::Policy> policies;  // empty: all
  std::vector<double> work_seconds{0, 10e-6, 100e-6, 1e-3, 10e-3};
  int rounds = 0;      // of each row; 0: by the length of its steps
  bool quick = false;  // few rounds and no neighbour above a millisecond: shows that it works
  CoreLayout layout;
  DeviceOptions device_options;
  std::function<void()> check;                            // between steps; throws to end the run
  std::function<void(const std::string& what)> progress;  // before each row
};

LabResult run_sync_lab(const LabOptions& options);

// A core for the waiting thread: one the device does not work on, the layout's orchestrator where possible. Pure.
int waiter_core(const CoreLayout& layout, const std::vector<int>& usable, const std::vector<int>& device_cores);

}  // namespace tandem::sync_lab
