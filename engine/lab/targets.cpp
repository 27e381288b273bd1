#include "engine/lab/targets.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace tandem::sync_lab {
namespace {

// Bounds of the targets. Ratios have no unit.
constexpr double kBusRatio = 1.2, kDoorbellRatio = 1.2, kGateSeconds = 1e-6, kAgainstBlocking = 50,
                 kPredictOverhead = 1.05, kPredictCpu = 0.35;

// One device's figure for a target, and the words that explain it.
struct Finding {
  std::optional<double> figure;  // absent: the rows exist but give no figure; the note says why
  std::string note;
};
using Look = std::function<std::optional<Finding>(const DeviceResult&)>;

std::string us(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g us", seconds * 1e6);
  return text;
}

// The measured row of a policy on uncrowded cores.
const SyncRow* row_of(const DeviceResult& device, sync::Policy policy, double work) {
  for (const SyncRow& row : device.rows) {
    if (!row.launched && row.policy == policy && row.work_seconds == work && row.spinners == 0 &&
        row.status == RowStatus::measured)
      return &row;
  }
  return nullptr;
}

// Takes the first device for which `look` finds the rows.
Target target(const LabResult& result, Target wanted, const Look& look) {
  for (const DeviceResult& device : result.devices) {
    if (const std::optional<Finding> finding = look(device)) {
      wanted.figure = finding->figure;
      wanted.note = device.id + ": " + finding->note;
      return wanted;
    }
  }
  wanted.note = "not judged: this run holds no such rows";
  return wanted;
}

// An empty step needs two transfers of a cache line at least: the ring and the flag.
std::optional<Finding> doorbell_against_limit(const DeviceResult& device) {
  const SyncRow* row = row_of(device, sync::Policy::doorbell, 0);
  if (!row || !device.limit || device.own_memory) return {};
  const CacheLine& limit = *device.limit;
  if (!limit.steady()) {
    return Finding{{},
                   "not judged: a cache line took " + us(limit.before_seconds) + " there and back before the row and " +
                       us(limit.after_seconds) + " after it, the cores moved meanwhile"};
  }
  return Finding{row->round_trip.middle / limit.round_trip.middle,
                 "empty step " + us(row->round_trip.middle) + ", two cache-line transfers " +
                     us(limit.round_trip.middle) + " just before and after it (means of the middle halves)"};
}

// An absolute bound, for devices that share the host's memory. A card is judged against its bus instead.
std::optional<Finding> gate_time(const DeviceResult& device) {
  const SyncRow* row = row_of(device, sync::Policy::gate, 0);
  if (!row || device.own_memory) return {};
  return Finding{row->round_trip.p50 * 1e6, "gate opened to the empty step's flag"};
}

// For a card this replaces the two judgements above, because host and card are on different sides of a bus.
std::optional<Finding> gate_against_bus(const DeviceResult& device) {
  const SyncRow* row = row_of(device, sync::Policy::gate, 0);
  if (!row || !device.bus || device.bus->round_trip.p50 <= 0) return {};
  return Finding{
      row->round_trip.p50 / device.bus->round_trip.p50,
      "empty step " + us(row->round_trip.p50) + ", a card's read across the bus " + us(device.bus->round_trip.p50)};
}

// H7: how many times longer the driver's blocking wait makes an empty step.
std::optional<Finding> doorbell_against_blocking(const DeviceResult& device) {
  const SyncRow *doorbell = row_of(device, sync::Policy::doorbell, 0),
                *blocking = row_of(device, sync::Policy::blocking, 0);
  if (!doorbell || !blocking || doorbell->round_trip.p50 <= 0) return {};
  return Finding{blocking->round_trip.p50 / doorbell->round_trip.p50,
                 "empty step " + us(blocking->round_trip.p50) + " against " + us(doorbell->round_trip.p50)};
}

// Rows of both policies at the length at which they are judged.
std::optional<std::pair<const SyncRow*, const SyncRow*>> predict_and_spin(const DeviceResult& device) {
  constexpr double kJudgedAt = 1e-3;
  const SyncRow *predict = row_of(device, sync::Policy::predict, kJudgedAt),
                *spin = row_of(device, sync::Policy::spin, kJudgedAt);
  if (!predict || !spin) return {};
  return std::pair{predict, spin};
}

// Compares what waiting adds, without the work. The work is nearly all of a step of 1 ms, so a ratio of whole steps
// would be 1.00 even for twice the overhead.
std::optional<Finding> predict_overhead(const DeviceResult& device) {
  const auto rows = predict_and_spin(device);
  if (!rows || rows->second->overhead.p50 <= 0) return {};
  const auto [predict, spin] = *rows;
  return Finding{predict->overhead.p50 / spin->overhead.p50,
                 "step of 1 ms: beyond the work " + us(predict->overhead.p50) + " against " + us(spin->overhead.p50)};
}

// H7: a predicted wait sleeps through most of the step, so its thread should need a small part of a spinning
// thread's time.
std::optional<Finding> predict_cpu(const DeviceResult& device) {
  const auto rows = predict_and_spin(device);
  if (!rows || rows->second->cpu_thread_seconds <= 0) return {};
  const auto [predict, spin] = *rows;
  return Finding{predict->cpu_thread_seconds / spin->cpu_thread_seconds,
                 "step of 1 ms: " + us(predict->cpu_thread_seconds) + " against " + us(spin->cpu_thread_seconds)};
}

}  // namespace

// The target of the bus is judged only if some device is a card.
std::vector<Target> judge(const LabResult& result) {
  const auto at_most = [](std::string name, double bound, std::string unit) {
    Target wanted;
    wanted.name = std::move(name);
    wanted.bound = bound;
    wanted.unit = std::move(unit);
    return wanted;
  };
  Target fifty = at_most("blocking (clFinish) over doorbell, empty step", kAgainstBlocking, "x");
  fifty.at_least = true;
  std::vector<Target> targets = {
      target(result, at_most("doorbell round trip over two cache-line transfers", kDoorbellRatio, "x"),
             doorbell_against_limit),
      target(result, at_most("gate, median of an empty step", kGateSeconds * 1e6, "us"), gate_time),
      target(result, fifty, doorbell_against_blocking),
      target(result, at_most("predict's overhead over spin's, the work left out", kPredictOverhead, "x"),
             predict_overhead),
      target(result, at_most("predict's processor time over spin's", kPredictCpu, "x"), predict_cpu),
  };
  if (std::ranges::any_of(result.devices, &DeviceResult::own_memory))
    targets.push_back(
        target(result, at_most("gate over a round trip across the bus, empty step", kBusRatio, "x"), gate_against_bus));
  return targets;
}

}  // namespace tandem::sync_lab
