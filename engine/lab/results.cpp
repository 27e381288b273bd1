#include "engine/lab/results.h"

#include <algorithm>

namespace tandem::sync_lab {

const char* name_of(RowStatus status) {
  switch (status) {
    case RowStatus::measured:
      return "measured";
    case RowStatus::off:
      return "off";
    case RowStatus::failed:
      break;
  }
  return "failed";
}

// If the two readings differ by more than a quarter, the machine changed during the row, and its ratio to the limit
// means nothing.
bool CacheLine::steady() const {
  constexpr double kSame = 1.25;
  const auto [least, most] = std::minmax(before_seconds, after_seconds);
  return least > 0 && most <= kSame * least;
}

// A driver's own launch has a name of its own, because it is no policy.
std::string name_of(const SyncRow& row) { return row.launched ? "launch+finish" : name_of(row.policy); }

// The limit is what the hardware itself takes: a cache line there and back, or a card's read across the bus.
std::optional<double> DeviceResult::times_limit(const SyncRow& row) const {
  const double least = limit ? limit->round_trip.middle : bus ? bus->round_trip.middle : 0;
  if (least <= 0) return {};
  return row.overhead.middle / least;
}

// One measured row is enough for a device to count as measured.
bool DeviceResult::has_figure() const {
  return std::ranges::any_of(rows, [](const SyncRow& row) { return row.status == RowStatus::measured; });
}

// A failed row lost a step, which makes the command fail.
bool LabResult::lost_steps() const {
  return std::ranges::any_of(devices, [](const DeviceResult& device) {
    return std::ranges::any_of(device.rows, [](const SyncRow& row) { return row.status == RowStatus::failed; });
  });
}

// Rows with crowded cores and launches are not looked at.
const SyncRow* LabResult::find(const std::string& device, sync::Policy policy, double work_seconds) const {
  for (const DeviceResult& candidate : devices) {
    if (candidate.id != device) continue;
    for (const SyncRow& row : candidate.rows) {
      if (!row.launched && row.policy == policy && row.work_seconds == work_seconds && row.spinners == 0 &&
          row.status == RowStatus::measured)
        return &row;
    }
  }
  return nullptr;
}

}  // namespace tandem::sync_lab
