// What the laboratory measured, as plain values: printed, plotted and judged by pure functions.
//
// Units: seconds. What could not be measured is absent, never a stand-in. All times are the wall clock's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/lab/machine.h"
#include "engine/plan/prediction/statistics.h"
#include "sync/waiter.h"

namespace tandem::sync_lab {

enum class RowStatus {
  measured,
  off,     // the policy did not pass the device's start-up test
  failed,  // a step was lost, late or wrong
};
const char* name_of(RowStatus status);

// One waiting policy of one device with steps of one length.
struct SyncRow {
  sync::Policy policy = sync::Policy::blocking;
  // Not a policy but a launch and its end through the driver, where a policy cannot be measured by itself.
  bool launched = false;
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
  double single_per_second = 0;                    // steps that the host starts one by one, without a rest
  double chained_per_second = 0;                   // steps handed over together: one signal, each after the one before
  std::optional<double> neighbour_slowdown;        // share of its speed that a neighbour on the waiter's core loses
  std::optional<double> prediction_error;          // of `predict`: mean relative error of the run's own predictor
};

std::string name_of(const SyncRow& row);  // of its policy, or "launch+finish"

// A cache line's way to and fro between the core that waits for a device and one that the device works on: what a
// hand-over costs without any driver. Where cores lie changes within minutes on a virtual machine, so it is measured
// just before and just after the row that is judged by it.
struct CacheLine {
  std::vector<int> cores;                        // the waiter's, the device's
  Distribution round_trip;                       // of both readings together
  double before_seconds = 0, after_seconds = 0;  // of each: the mean of its middle half
  bool steady() const;                           // both readings say the same, within a quarter
};

// A card's read of the host's memory: one round trip across the bus (engine/device/lab/litmus.h).
struct BusTrip {
  Distribution round_trip;
};

struct DeviceResult {
  std::string id, name, driver;
  bool own_memory = false;  // a card behind a bus: no cache line goes between it and a core
  std::vector<int> cores;   // its work runs on
  int waiter_core = 0;
  bool shares_core = false;  // the waiter has no core of its own
  std::vector<SyncRow> rows;
  std::optional<CacheLine> limit;  // what every figure "x limit" of this device refers to
  std::string no_limit;            // why there is none
  std::optional<BusTrip> bus;      // of a card
  std::string no_bus;              // why there is none, of a card
  std::string problem;             // why it could not be opened; "": it was

  // Overhead over the round trip of the cache line, or over the bus; nothing where that was not measured.
  std::optional<double> times_limit(const SyncRow& row) const;
  bool has_figure() const;  // any row was measured
};

// What a decode step of a model would gain, computed from measured values.
struct DecodeSaving {
  std::string device;
  sync::Policy policy = sync::Policy::blocking;
  int waits = 0;             // of a decode step, for this device
  double saved_seconds = 0;  // against `blocking`
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
  double clock_seconds = 0;  // what a reading of the clock takes, which is in a cache line's time too
  std::vector<DeviceResult> devices;
  std::vector<Target> targets;
  std::optional<DecodeMeaning> decode;
  std::vector<std::string> warnings;
  double seconds = 0;  // the whole run took

  bool lost_steps() const;
  // Of a policy; a launch and its end is none.
  const SyncRow* find(const std::string& device, sync::Policy policy, double work_seconds) const;
};

}  // namespace tandem::sync_lab
