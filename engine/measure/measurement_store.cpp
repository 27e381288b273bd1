#include "engine/measure/measurement_store.h"

#include <nlohmann/json.hpp>

namespace tandem {
namespace {

nlohmann::json to_json(const MeasuredSeconds& seconds) {
  return {{"median", seconds.median}, {"least", seconds.least}, {"most", seconds.most}, {"samples", seconds.samples}};
}

// A value of another form counts as not measured (0): the file may have been damaged, or edited.
double number_in(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

// A count from 1 to 2^30, so that the product of two counts fits an int64; 0 for any other value.
int64_t count_in(const nlohmann::json& object, const char* key) {
  const double number = number_in(object, key);
  return number >= 1 && number <= 0x1p30 ? static_cast<int64_t>(number) : 0;
}

std::optional<MeasuredSeconds> seconds_from(const nlohmann::json& value) {
  if (value.is_number() && value > 0) return MeasuredSeconds{value, value, value, 1};  // the form of older versions
  if (!value.is_object()) return std::nullopt;
  const MeasuredSeconds seconds{number_in(value, "median"), number_in(value, "least"), number_in(value, "most"),
                                static_cast<int>(count_in(value, "samples"))};
  return seconds.least > 0 ? std::optional(seconds) : std::nullopt;
}

// Absent unless every field has a plausible value: counts from 1 on and a format that exists.
std::optional<MatMulPoint> point_from(const nlohmann::json& value) {
  const auto format = value.find("format"), both = value.find("both");
  if (format == value.end() || !format->is_string()) return std::nullopt;
  const MatMulPoint point{format->get<std::string>(), count_in(value, "S"), count_in(value, "K"),
                          count_in(value, "rows"), both != value.end() && *both == true};
  const bool whole = point.S > 0 && point.K > 0 && point.rows > 0 && is_packed_format(point.format);
  return whole ? std::optional(point) : std::nullopt;
}

}  // namespace

std::optional<MeasuredSeconds> stored_seconds(const DiskCache& cache, const std::string& key) {
  const auto value = cache.value(key);
  return value ? seconds_from(*value) : std::nullopt;
}

void store_seconds(DiskCache& cache, const std::string& key, const MeasuredSeconds& seconds) {
  cache.set(key, to_json(seconds));
}

std::string key_of(const DeviceInfo& device, const MatMulPoint& point) {
  return measurement_key(device) + "|" + to_string(point);
}

// The point is stored beside its times, so that stored_points() need not read it from the key's text.
void store_point(DiskCache& cache, const DeviceInfo& device, const MatMulPoint& point, const MeasuredSeconds& seconds) {
  nlohmann::json value = to_json(seconds);
  value["matmul"] = {
      {"format", point.format}, {"S", point.S}, {"K", point.K}, {"rows", point.rows}, {"both", point.both}};
  cache.set(key_of(device, point), std::move(value));
}

// All matmuls of the device, by the prefix of their keys. A value that is not whole is left out, as if it were
// not measured.
std::vector<MeasuredPoint> stored_points(const DiskCache& cache, const DeviceInfo& device) {
  std::vector<MeasuredPoint> points;
  cache.for_each(measurement_key(device) + "|matmul ", [&](const nlohmann::json& value) {
    const auto seconds = seconds_from(value);
    if (!seconds || !value.contains("matmul") || !value["matmul"].is_object()) return;
    if (const auto point = point_from(value["matmul"])) points.push_back({*point, seconds->least});
  });
  return points;
}

}  // namespace tandem
