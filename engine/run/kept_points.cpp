#include "engine/run/kept_points.h"

namespace tandem {
namespace {

// Changes with the way of measuring: figures of another one are no use beside those of this one.
constexpr const char* kMethod = "|cold";

nlohmann::json to_json(const MeasuredSeconds& seconds) {
  return {{"median", seconds.median}, {"least", seconds.least}, {"most", seconds.most}, {"samples", seconds.samples}};
}

std::optional<MeasuredSeconds> seconds_from(const nlohmann::json& value) {
  if (value.is_number()) return MeasuredSeconds{value, value, value, 1};  // as older versions kept it
  if (!value.is_object()) return std::nullopt;
  const MeasuredSeconds seconds{value.value("median", 0.0), value.value("least", 0.0), value.value("most", 0.0),
                                value.value("samples", 0)};
  return seconds.least > 0 ? std::optional(seconds) : std::nullopt;
}

}  // namespace

std::string measurement_key(const DeviceInfo& device) {
  std::string key = device.id + "|" + device.name + "|" + device.driver + "|cores";
  for (int core : device.cores) key += " " + std::to_string(core);
  return key + kMethod;
}

std::optional<MeasuredSeconds> kept_seconds(const DiskCache& cache, const std::string& key) {
  const auto value = cache.value(key);
  return value ? seconds_from(*value) : std::nullopt;
}

void keep_seconds(DiskCache& cache, const std::string& key, const MeasuredSeconds& seconds) {
  cache.set(key, to_json(seconds));
}

std::string key_of(const DeviceInfo& device, const MatMulPoint& point) {
  return measurement_key(device) + "|" + to_string(point);
}

void keep_point(DiskCache& cache, const DeviceInfo& device, const MatMulPoint& point, const MeasuredSeconds& seconds) {
  nlohmann::json value = to_json(seconds);
  value["matmul"] = {
      {"format", point.format}, {"S", point.S}, {"K", point.K}, {"rows", point.rows}, {"both", point.both}};
  cache.set(key_of(device, point), std::move(value));
}

std::vector<MeasuredPoint> kept_points(const DiskCache& cache, const DeviceInfo& device) {
  std::vector<MeasuredPoint> points;
  cache.for_each(measurement_key(device) + "|matmul ", [&](const nlohmann::json& value) {
    const auto seconds = seconds_from(value);
    if (!seconds || !value.contains("matmul")) return;
    const nlohmann::json& of = value["matmul"];
    const MatMulPoint point{of.value("format", ""), of.value("S", int64_t{0}), of.value("K", int64_t{0}),
                            of.value("rows", int64_t{0}), of.value("both", false)};
    if (!point.format.empty() && point.S > 0 && point.K > 0 && point.rows > 0)
      points.push_back({point, seconds->least});
  });
  return points;
}

}  // namespace tandem
