#include "engine/lab/decode_meaning.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace tandem::sync_lab {
namespace {

// Waits of each device in one decode step.
std::vector<int> waits_of(const Plan& plan) {
  std::vector<int> waits(plan.devices.size(), 0);
  std::vector<bool> used(plan.devices.size(), false);
  for (const Step& step : plan.steps) {
    waits[static_cast<size_t>(step.device)] += static_cast<int>(step.waits.size());
    used[static_cast<size_t>(step.device)] = true;
  }
  for (size_t i = 0; i < waits.size(); ++i) waits[i] += used[i] ? 1 : 0;  // the host's wait for its end
  return waits;
}

// Shortest measured length of work, which stands for an empty step.
double shortest_work(const DeviceResult& device) {
  double least = std::numeric_limits<double>::infinity();
  for (const SyncRow& row : device.rows) least = std::min(least, row.work_seconds);
  return least;
}

}  // namespace

// For each device: the saving of every measured policy against "blocking", with the shortest steps. Devices without
// such figures become notes.
DecodeMeaning decode_meaning(const std::string& model, const Plan& plan, const LabResult& result) {
  DecodeMeaning meaning;
  meaning.model = model;
  meaning.plan = plan.name;
  meaning.devices = plan.devices;
  meaning.steps = static_cast<int>(plan.steps.size());
  const std::vector<int> waits = waits_of(plan);
  for (size_t i = 0; i < waits.size(); ++i) {
    meaning.waits += waits[i];
    const std::string& id = plan.devices[i];
    const auto measured = std::ranges::find(result.devices, id, &DeviceResult::id);
    if (measured == result.devices.end()) {
      if (waits[i] > 0) meaning.notes.push_back(id + " was not measured");
      continue;
    }
    const SyncRow* blocking = result.find(id, sync::Policy::blocking, shortest_work(*measured));
    if (!blocking) {
      meaning.notes.push_back("\"blocking\" was not measured on " + id);
      continue;
    }
    for (const SyncRow& row : measured->rows) {
      if (row.spinners != 0 || row.status != RowStatus::measured || row.work_seconds != blocking->work_seconds)
        continue;
      if (row.policy == sync::Policy::blocking) continue;
      // A saving is the difference of two overheads for one wait, times the device's waits in a decode step.
      meaning.savings.push_back({id, row.policy, waits[i], waits[i] * (blocking->overhead.p50 - row.overhead.p50)});
    }
  }
  return meaning;
}

}  // namespace tandem::sync_lab
