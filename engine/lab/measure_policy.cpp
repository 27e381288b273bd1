#include "engine/lab/measure_policy.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "engine/device/lab/lab.h"
#include "engine/lab/core_load.h"
#include "engine/lab/cpu_time.h"
#include "sync/clock.h"
#include "sync/duration_predictor.h"
#include "sync/error.h"
#include "sync/waiter.h"

namespace tandem::sync_lab {
namespace {

// Samples of one pass over the steps.
struct Samples {
  std::vector<double> round_trip, overhead, to_device, to_host, work;
  double cpu_thread = 0, cpu_process = 0;  // sums
};

// Measures one row: several passes with rests between the steps, then runs of steps without rests, then a neighbour.
class Row {
 public:
  Row(SyncProbe& probe, const RowRequest& request, SyncRow& row)
      : probe_(probe),
        request_(request),
        row_(row),
        rounds_(request.rounds > 0 ? request.rounds : default_rounds(request.work_seconds, false)) {}

  // First single steps with rests, for round trips and processor time. Then runs of steps without a rest, for rates. At
  // last a busy neighbour, to see how much the waiting costs others.
  void measure() {
    warm_up();
    // Reading the processor time and the steps' clock takes as long as an empty step. So empty steps have a separate
    // pass for each. Steps that compute do both in one pass.
    const bool computes = request_.work_seconds > 0;
    Samples samples = pass(computes, computes);
    if (!computes) {
      Samples timed = pass(true, false);
      samples.to_device = std::move(timed.to_device);
      samples.to_host = std::move(timed.to_host);
    }
    const Samples counted = computes ? Samples() : pass(false, true);
    const Samples& cpu = computes ? samples : counted;
    row_.cpu_thread_seconds = cpu.cpu_thread / static_cast<double>(cpu.round_trip.size());
    row_.cpu_process_seconds = cpu.cpu_process / static_cast<double>(cpu.round_trip.size());
    if (computes && !samples.work.empty()) row_.timed_work_seconds = median(samples.work);
    row_.round_trip = summarise(samples.round_trip);
    row_.overhead = summarise(samples.overhead);
    if (!samples.to_device.empty()) {
      row_.to_device = summarise(samples.to_device);
      row_.to_host = summarise(samples.to_host);
    }
    if (request_.policy == sync::Policy::predict) row_.prediction_error = predictor_.relative_error();
    row_.single_per_second = one_by_one();
    row_.chained_per_second = chain();
    if (request_.neighbour_seconds > 0) row_.neighbour_slowdown = slow_a_neighbour_down();
  }

 private:
  // First steps bring code and memory into the caches, and the predictor needs some durations.
  void warm_up() {
    for (int i = 0; i < 5; ++i) step();
  }

  // Runs one step with a predicted duration, and updates the predictor. Returns the round trip.
  double step() {
    const double begin = now_seconds();
    probe_.start();
    const sync::WaitReport report = probe_.wait(predictor_.predict(), request_.deadline);
    const double seconds = now_seconds() - begin;
    learn(report, seconds);
    return seconds;
  }
  void learn(const sync::WaitReport& report, double seconds) {
    report.overslept ? predictor_.observe_overslept() : predictor_.observe(seconds);
    ++row_.verified_steps;
  }

  // Keeps this core busy for the pause.
  void rest() const {
    const double end = now_seconds() + std::chrono::duration<double>(request_.pause).count();
    while (now_seconds() < end) {
    }
  }

  // Runs the steps of one pass. timed: with the device's clock. counted: with processor times.
  Samples pass(bool timed, bool counted) {
    Samples samples;
    probe_.time_steps(timed);
    const double reading = reading_seconds(), end = now_seconds() + request_.row_seconds;
    for (int i = 0; i < rounds_ && (i < kFewest || now_seconds() < end); ++i) {
      if (request_.check) request_.check();
      probe_.arm();
      rest();
      const double predicted = predictor_.predict();
      const double process = counted ? process_cpu_seconds() : 0;
      const double begin = now_seconds();
      probe_.start();
      // Only the waiting counts for the thread, not the hand-over in start().
      const double thread = counted ? thread_cpu_seconds() : 0;
      const sync::WaitReport report = probe_.wait(predicted, request_.deadline);
      const double seen = now_seconds();
      if (counted) {
        samples.cpu_thread += std::max(0.0, thread_cpu_seconds() - thread - reading);
        samples.cpu_process += process_cpu_seconds() - process;
      }
      learn(report, seen - begin);
      // Excludes the time for recording times and checking values.
      samples.round_trip.push_back(probe_.round_trip_seconds());
      // With the device's own times the overhead is exact. Otherwise the requested work stands for the real one.
      if (const std::optional<StepTimes> times = probe_.last_step()) {
        samples.to_device.push_back(times->begin_seconds - times->handed_over_seconds);
        samples.to_host.push_back(times->seen_seconds - times->end_seconds);
        samples.work.push_back(times->end_seconds - times->begin_seconds);
        samples.overhead.push_back(samples.to_device.back() + samples.to_host.back());
      } else {
        samples.overhead.push_back(samples.round_trip.back() - request_.work_seconds);
      }
    }
    probe_.time_steps(false);
    return samples;
  }

  // Steps per second: the median of a few runs of about request_.chain_seconds. `run` runs so many steps and
  // counts them.
  double rate_of(const std::function<void(int steps)>& run) {
    constexpr int kLongest = 1000, kShortest = 3, kRuns = 3;
    const double step_seconds = std::max(row_.round_trip.p50, 1e-6);
    const int steps = std::clamp(static_cast<int>(request_.chain_seconds / step_seconds), kShortest, kLongest);
    std::vector<double> rates;
    for (int i = 0; i < kRuns; ++i) {
      if (request_.check) request_.check();
      const double begin = now_seconds();
      run(steps);
      rates.push_back(steps / (now_seconds() - begin));
    }
    return median(rates);
  }

  // A ring, a gate or a launch for each step, as soon as the host has seen the end of the step before.
  double one_by_one() {
    return rate_of([this](int steps) {
      for (int i = 0; i < steps; ++i) step();
    });
  }

  // One signal for all steps. With "doorbell" and "gate" the device continues from step to step by itself.
  double chain() {
    return rate_of([this](int steps) {
      probe_.chain(steps, request_.deadline);
      row_.verified_steps += steps;
    });
  }

  // Share of its speed that a neighbour on the waiter's core loses while steps run, compared with a sleeping waiter.
  double slow_a_neighbour_down() {
    // Rounds per second of the neighbour while `act` runs again and again.
    const auto speed_while = [&](const auto& act) {
      Neighbour neighbour(request_.waiter_core);
      const double end = now_seconds() + request_.neighbour_seconds;
      do {
        if (request_.check) request_.check();
        act();
      } while (now_seconds() < end);
      return neighbour.stop();
    };
    const auto asleep = std::chrono::duration<double>(request_.neighbour_seconds);
    const double alone = speed_while([&] { std::this_thread::sleep_for(asleep); });
    const double beside = speed_while([&] { step(); });
    return 1 - beside / alone;
  }

  static constexpr int kFewest = 5;  // least steps of a pass, even if it takes longer

  SyncProbe& probe_;
  const RowRequest& request_;
  SyncRow& row_;
  const int rounds_;
  sync::DurationPredictor predictor_;
};

}  // namespace

// The number of rounds that fit into kPassSeconds, within limits. A hand-over is assumed to take kHandOver.
int default_rounds(double work_seconds, bool quick) {
  constexpr double kPassSeconds = 0.25, kHandOver = 150e-6;
  constexpr int kMost = 1000, kFewest = 20, kQuick = 20;
  const int rounds =
      std::clamp(static_cast<int>(std::lround(kPassSeconds / (work_seconds + kHandOver))), kFewest, kMost);
  return quick ? std::min(rounds, kQuick) : rounds;
}

namespace {

// A row begins with its key: policy, work and spinners.
SyncRow row_for(const RowRequest& request) {
  SyncRow row;
  row.policy = request.policy;
  row.work_seconds = request.work_seconds;
  row.spinners = static_cast<int>(request.spinner_cores.size());
  return row;
}

// The reason why the policy cannot be measured by itself; "": it can.
std::string why_not_alone(const DeviceInfo& info, sync::Policy policy) {
  try {
    require_policy(info, policy);
  } catch (const Error& error) {
    return error.hint().empty() ? error.what() : error.hint();
  }
  if (!info.queued || info.zero_copy) return "";
  return "its kernels raise no flags that the host sees: " + info.zero_copy_note;
}

// Measures the row. An Error of the probe becomes a failed row with its reason.
void measure(SyncRow& row, const RowRequest& request, const std::function<std::unique_ptr<SyncProbe>()>& make) {
  try {
    const std::unique_ptr<SyncProbe> probe = make();
    const Spinners spinners(request.spinner_cores);
    Row(*probe, request, row).measure();
  } catch (const Error& error) {
    row.status = RowStatus::failed;
    row.reason = error.what();
    ++row.lost_steps;
  }
}

}  // namespace

// A policy that the device does not have becomes a row with status `off` and the reason.
SyncRow measure_policy(Device& device, const RowRequest& request) {
  SyncRow row = row_for(request);
  row.reason = why_not_alone(device.info(), request.policy);
  if (row.reason.empty()) {
    measure(row, request, [&] { return lab_of(device).sync_probe(request.policy, request.work_seconds); });
  } else {
    row.status = RowStatus::off;
  }
  return row;
}

// The driver's own way: each step is launched, and finish() waits for it. The row stands in for policies that a device
// does not have.
SyncRow measure_launch(Device& device, const RowRequest& request) {
  RowRequest blocking = request;
  blocking.policy = sync::Policy::blocking;
  SyncRow row = row_for(blocking);
  row.launched = true;
  measure(row, blocking, [&] { return lab_of(device).launch_probe(request.work_seconds); });
  return row;
}

}  // namespace tandem::sync_lab
