// Keeps measured points on disk: turns a point and its time into an entry of the disk cache, and back.
//
// Contract: an entry's key is measurement_key(device) and the point's text. Its value repeats what the point is. An
// entry that does not read as a point is skipped (older versions kept plain numbers).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/plan/prediction/matmul_point.h"
#include "engine/run/choice/disk_cache.h"
#include "engine/run/choice/machine_rates.h"

namespace tandem {

std::optional<MeasuredSeconds> stored_seconds(const DiskCache& cache, const std::string& key);
void store_seconds(DiskCache& cache, const std::string& key, const MeasuredSeconds& seconds);

std::string key_of(const DeviceInfo& device, const MatMulPoint& point);
void store_point(DiskCache& cache, const DeviceInfo& device, const MatMulPoint& point, const MeasuredSeconds& seconds);
// All matmuls measured on a device, with their least times, in the order of their keys. Tests and the fuzzing of
// damaged files read the store as a whole with it. The program asks for one point at a time.
std::vector<MeasuredPoint> stored_points(const DiskCache& cache, const DeviceInfo& device);

}  // namespace tandem
