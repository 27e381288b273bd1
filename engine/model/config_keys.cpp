#include "engine/model/config_keys.h"

#include <cmath>

#include "sync/error.h"

namespace tandem {

void ConfigKeys::fail(const char* key, const std::string& problem, const std::string& hint) const {
  throw Error("the model's configuration is not valid: " + problem, file_.path() + ": metadata key '" + full(key) + "'",
              hint);
}

void ConfigKeys::check_single(const char* key) const {
  if (file_.array_length(full(key))) {
    fail(key, "found an " + file_.type_of(full(key)) + ", expected one number for all layers",
         "models whose layers differ in shape are not supported");
  }
}

std::optional<int64_t> ConfigKeys::size(const char* key, int64_t max) const {
  check_single(key);
  const auto value = file_.get_uint(full(key));
  if (!value) return std::nullopt;
  if (*value < 1 || *value > static_cast<uint64_t>(max)) {
    fail(key, "found " + std::to_string(*value) + ", expected 1 to " + std::to_string(max));
  }
  return static_cast<int64_t>(*value);
}

int64_t ConfigKeys::require_size(const char* key, int64_t max) const {
  if (!file_.has(full(key))) file_.require_uint(full(key));
  return *size(key, max);
}

int64_t ConfigKeys::count(const char* key, int64_t max) const {
  check_single(key);
  return file_.get_uint(full(key)).value_or(0) == 0 ? 0 : *size(key, max);
}

std::optional<double> ConfigKeys::number(const char* key) const {
  check_single(key);
  const auto value = file_.get_float(full(key));
  if (value && !std::isfinite(*value)) fail(key, "found a number that is not finite, expected a finite one");
  return value;
}

double ConfigKeys::require_number(const char* key) const {
  if (!file_.has(full(key))) file_.require_float(full(key));
  return *number(key);
}

std::optional<std::string> ConfigKeys::text(const char* key) const { return file_.get_string(full(key)); }

std::optional<bool> ConfigKeys::flag(const char* key) const { return file_.get_bool(full(key)); }

}  // namespace tandem
