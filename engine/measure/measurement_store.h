// Measured points on disk: how a point and its time become an entry of the cache, and come back, all of one device at
// once to learn from.
//
// Contract: an entry is kept under measurement_key(device) and the point's text, and says in its value what it is. What
// does not read as a point (older versions kept plain numbers) is passed over.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/plan/prediction/matmul_point.h"
#include "engine/run/disk_cache.h"
#include "engine/run/machine_rates.h"

namespace tandem {

std::optional<MeasuredSeconds> stored_seconds(const DiskCache& cache, const std::string& key);
void store_seconds(DiskCache& cache, const std::string& key, const MeasuredSeconds& seconds);

std::string key_of(const DeviceInfo& device, const MatMulPoint& point);
void store_point(DiskCache& cache, const DeviceInfo& device, const MatMulPoint& point, const MeasuredSeconds& seconds);
// All matmuls measured on a device, with their least times, in the order of their keys: what tests, and the fuzzing of
// damaged files, see of the store as a whole. The program asks for one point at a time.
std::vector<MeasuredPoint> stored_points(const DiskCache& cache, const DeviceInfo& device);

}  // namespace tandem
