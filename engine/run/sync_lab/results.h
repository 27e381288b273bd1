// What the laboratory measured, as plain values: printed, plotted and judged by pure functions.
//
// Units: seconds. What could not be measured is absent, never a stand-in. All times are the wall clock's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/plan/statistics.h"
#include "engine/run/sync_lab/machine.h"

namespace tandem::sync_lab {

enum class RowStatus {
  measured,
  off,     // the policy did not pass the device's start-up test
  failed,  // a step was lost, late or wrong
};
const char* name_of(RowStatus status);

// One waiting policy of one device with steps of one length.
struct SyncRow {
  std::string policy;
  double work_seconds = 0;
  int spinners = 0;  // other threads that held a core each; 0: the normal case
  RowStatus status = RowStatus::measured;
  std::string reason;      // why off or failed
  int verified_steps = 0;  // whose value, number and count were right; of all passes
  int lost_steps = 0;

  Distribution round_trip;                   // start() to the return of wait(), the work included
  Distribution overhead;                     // round trip less the work
  std::optional<double> timed_work_seconds;  // what the steps themselves took, median; else work_seconds is taken off
  std::optional<Distribution> to_device, to_host;  // one way; where the device's clock compares with the host's
  double cpu_thread_seconds = 0;                   // a step: processor time of the waiting thread inside wait()
  double cpu_process_seconds = 0;                  // a step: of all threads of the process, from start() to the end
  double chained_per_second = 0;                   // steps handed over together, each after the one before
  std::optional<double> neighbour_slowdown;        // share of its speed that a neighbour on the waiter's core loses
  std::optional<double> prediction_error;          // of "predict": mean relative error of the run's own predictor
  double limit_seconds = 0;  // cache-line round trip just before this row (middle); 0: not measured
};

struct DeviceResult {
  std::string id, name, driver;
  std::vector<int> cores;  // its work runs on
  int waiter_core = 0;
  bool shares_core = false;  // the waiter has no core of its own
  std::vector<SyncRow> rows;
  std::string problem;  // why it could not be opened; "": it was
};

// What a decode step of a model would gain, computed from measured values.
struct DecodeSaving {
  std::string device, policy;
  int waits = 0;             // of a decode step, for this device
  double saved_seconds = 0;  // against "blocking"
};
struct DecodeMeaning {
  std::string model, plan;
  std::vector<std::string> devices;
  int steps = 0, waits = 0;  // of the plan
  std::vector<DecodeSaving> savings;
  std::vector<std::string> notes;  // what is not in the figures, and why
};

struct Target {
  std::string name;
  std::optional<double> figure;  // absent: could not be judged
  double bound = 0;
  bool at_least = false;  // the figure must be at least the bound, not at most
  std::string unit, note;
  bool met() const { return figure && (at_least ? *figure >= bound : *figure <= bound); }
};

struct LabResult {
  MachineFacts machine;
  std::optional<Distribution> limit;  // cache-line round trip between two cores, all measurements of the run
  std::string no_limit;               // why there is none
  std::vector<int> limit_cores;
  double clock_seconds = 0;  // what a reading of the clock takes
  std::vector<DeviceResult> devices;
  std::vector<Target> targets;
  std::optional<DecodeMeaning> decode;
  std::vector<std::string> warnings;
  double seconds = 0;  // the whole run took

  bool lost_steps() const;
  const SyncRow* find(const std::string& device, const std::string& policy, double work_seconds) const;
};

}  // namespace tandem::sync_lab
