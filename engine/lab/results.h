// The laboratory's measurements as plain values. Pure functions print, plot and judge them.
//
// Units: seconds, of the wall clock. Values that could not be measured are absent, never replaced.
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

// Measurements of one waiting policy of one device, with steps of one length.
struct SyncRow {
  sync::Policy policy = sync::Policy::blocking;
  // True: not a policy, but a launch and its end through the driver, because a policy cannot be measured by itself.
  bool launched = false;
  double work_seconds = 0;
  int spinners = 0;  // other threads that each kept a core busy; 0: the normal case
  RowStatus status = RowStatus::measured;
  std::string reason;      // the reason for off or failed
  int verified_steps = 0;  // steps of all passes whose value, number and count were right
  int lost_steps = 0;

  Distribution round_trip;                   // from start() to the return of wait(), the work included
  Distribution overhead;                     // round_trip less the work
  std::optional<double> timed_work_seconds;  // the steps' own time, median; absent: work_seconds is subtracted instead
  std::optional<Distribution> to_device, to_host;  // one way; present if the device's clock compares with the host's
  double cpu_thread_seconds = 0;                   // per step: processor time of the waiting thread inside wait()
  double cpu_process_seconds = 0;                  // per step: of all threads of the process, from start() to the end
  double single_per_second = 0;                    // steps that the host starts one by one, without pauses
  double chained_per_second = 0;                   // steps that run one after another behind a single signal
  std::optional<double> neighbour_slowdown;        // share of its speed that a neighbour on the waiter's core loses
  std::optional<double> prediction_error;          // of `predict`: mean relative error of the run's own predictor
};

std::string name_of(const SyncRow& row);  // the policy's name, or "launch+finish"

// A cache line's round trip between the core that waits for a device and a core of the device. It is the cost of a
// hand-over without any driver. On a virtual machine cores may move within minutes. So it is measured just before and
// just after the row that is judged by it.
struct CacheLine {
  std::vector<int> cores;                        // the waiter's core and the device's core
  Distribution round_trip;                       // of both readings together
  double before_seconds = 0, after_seconds = 0;  // mean of the middle half of each reading
  bool steady() const;                           // both readings agree within a quarter
};

// A card's read of the host's memory: one round trip across the bus (engine/lab/litmus_runs.h).
struct BusTrip {
  Distribution round_trip;
};

struct DeviceResult {
  std::string id, name, driver;
  bool own_memory = false;  // a card behind a bus, so no cache line passes between it and a core
  std::vector<int> cores;   // cores that its work runs on
  int waiter_core = 0;
  bool shares_core = false;  // the waiter has no core of its own
  std::vector<SyncRow> rows;
  std::optional<CacheLine> limit;  // reference of this device's figures "x limit"
  std::string no_limit;            // the reason why there is none
  std::optional<BusTrip> bus;      // only for a card
  std::string no_bus;              // the reason why a card has none
  std::string problem;             // the reason why it could not be opened; "": it was opened

  // Overhead divided by the round trip of the cache line or across the bus; absent if that was not measured.
  std::optional<double> times_limit(const SyncRow& row) const;
  bool has_figure() const;  // true if any row was measured
};

// Savings of a decode step of a model, computed from measured values.
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
  std::vector<std::string> notes;  // what the figures do not include, and why
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
  double clock_seconds = 0;  // duration of a reading of the clock; a cache line's time includes it
  std::vector<DeviceResult> devices;
  std::vector<Target> targets;
  std::optional<DecodeMeaning> decode;
  std::vector<std::string> warnings;
  double seconds = 0;  // duration of the whole run

  bool lost_steps() const;
  // The row of a policy. A launch and its end is not a policy.
  const SyncRow* find(const std::string& device, sync::Policy policy, double work_seconds) const;
};

}  // namespace tandem::sync_lab
