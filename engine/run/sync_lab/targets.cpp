#include "engine/run/sync_lab/targets.h"

#include <cmath>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace tandem::sync_lab {
namespace {

constexpr double kDoorbellRatio = 1.2, kGateSeconds = 1e-6, kAgainstBlocking = 50, kPredictLatency = 1.05,
                 kPredictCpu = 0.35;

struct Finding {
  double figure = 0;
  std::string note;
};
using Look = std::function<std::optional<Finding>(const DeviceResult&)>;

std::string us(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g us", seconds * 1e6);
  return text;
}

const SyncRow* row_of(const DeviceResult& device, const std::string& policy, double work) {
  for (const SyncRow& row : device.rows) {
    if (row.policy == policy && row.work_seconds == work && row.spinners == 0 && row.status == RowStatus::measured)
      return &row;
  }
  return nullptr;
}

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

std::optional<Finding> doorbell_against_limit(const DeviceResult& device) {
  const SyncRow* row = row_of(device, "doorbell", 0);
  if (!row || row->limit_seconds <= 0) return {};
  return Finding{row->round_trip.middle / row->limit_seconds,
                 "empty step " + us(row->round_trip.middle) + ", two cache-line transfers " + us(row->limit_seconds) +
                     " just before it (means of the middle halves)"};
}

std::optional<Finding> gate_time(const DeviceResult& device) {
  const SyncRow* row = row_of(device, "gate", 0);
  if (!row) return {};
  return Finding{row->round_trip.p50 * 1e6, "gate opened to the empty step's flag"};
}

std::optional<Finding> doorbell_against_blocking(const DeviceResult& device) {
  const SyncRow *doorbell = row_of(device, "doorbell", 0), *blocking = row_of(device, "blocking", 0);
  if (!doorbell || !blocking || doorbell->round_trip.p50 <= 0) return {};
  return Finding{blocking->round_trip.p50 / doorbell->round_trip.p50,
                 "empty step " + us(blocking->round_trip.p50) + " against " + us(doorbell->round_trip.p50)};
}

// The work's own length differs a little from row to row (it is calibrated anew), so it is taken off both and the same
// work is put back.
std::optional<std::pair<const SyncRow*, const SyncRow*>> predict_and_spin(const DeviceResult& device) {
  constexpr double kJudgedAt = 1e-3;
  const SyncRow *predict = row_of(device, "predict", kJudgedAt), *spin = row_of(device, "spin", kJudgedAt);
  if (!predict || !spin) return {};
  return std::pair{predict, spin};
}

std::optional<Finding> predict_latency(const DeviceResult& device) {
  const auto rows = predict_and_spin(device);
  if (!rows) return {};
  const auto [predict, spin] = *rows;
  const double work = spin->work_seconds;
  return Finding{(work + predict->overhead.p50) / (work + spin->overhead.p50),
                 "step of 1 ms: beyond the work " + us(predict->overhead.p50) + " against " + us(spin->overhead.p50)};
}

std::optional<Finding> predict_cpu(const DeviceResult& device) {
  const auto rows = predict_and_spin(device);
  if (!rows || rows->second->cpu_thread_seconds <= 0) return {};
  const auto [predict, spin] = *rows;
  return Finding{predict->cpu_thread_seconds / spin->cpu_thread_seconds,
                 "step of 1 ms: " + us(predict->cpu_thread_seconds) + " against " + us(spin->cpu_thread_seconds)};
}

}  // namespace

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
  return {
      target(result, at_most("doorbell round trip over two cache-line transfers", kDoorbellRatio, "x"),
             doorbell_against_limit),
      target(result, at_most("gate, median of an empty step", kGateSeconds * 1e6, "us"), gate_time),
      target(result, fifty, doorbell_against_blocking),
      target(result, at_most("predict's latency over spin's", kPredictLatency, "x"), predict_latency),
      target(result, at_most("predict's processor time over spin's", kPredictCpu, "x"), predict_cpu),
  };
}

}  // namespace tandem::sync_lab
