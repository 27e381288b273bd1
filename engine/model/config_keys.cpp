#include "engine/model/config_keys.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <span>
#include <type_traits>

#include "sync/error.h"

namespace tandem {

std::string printed(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

void ConfigKeys::fail(const char* key, const std::string& problem, const std::string& hint) const {
  throw Error("the model's configuration is not valid: " + problem, file_.path() + ": metadata key '" + full(key) + "'",
              hint);
}

// Every number, bool, and array of these as doubles. Texts and nested arrays are an Error.
std::vector<double> ConfigKeys::numbers(const char* key) const {
  const std::string name = full(key), type = file_.type_of(name);
  if (type.empty()) return {};
  if (type == "bool") return {*file_.get_bool(name) ? 1.0 : 0.0};
  if (type == "array of bool") {
    std::vector<double> bools;
    // The stored bytes of an array begin with its element type and its length. The bools are the last bytes.
    const std::span<const std::byte> stored = file_.require_stored(name).bytes;
    for (const std::byte one : stored.last(*file_.array_length(name))) bools.push_back(std::to_integer<int>(one));
    return bools;
  }
  if (!file_.array_length(name)) return {*file_.get_float(name)};
  if (type == "array of f32" || type == "array of f64") {
    const auto floats = *file_.get_floats(name);
    return {floats.begin(), floats.end()};
  }
  if (type == "array of string" || type == "array of array")
    fail(key, "found an " + type + ", expected a number, or one for each layer");
  const auto ints = *file_.get_ints(name);
  return {ints.begin(), ints.end()};
}

std::string ConfigKeys::shown(const char* key, double value) const {
  const std::string type = file_.type_of(full(key));
  const bool is_bool = (type == "bool" || type == "array of bool") && (value == 0 || value == 1);
  return !is_bool ? printed(value) : value == 1 ? "true" : "false";
}

// Error if an array has another length than the model has layers.
void ConfigKeys::require_one_a_layer(const char* key, size_t values, const std::string& what) const {
  const std::string name = full("block_count");
  const auto layers = file_.array_length(name) ? std::nullopt : file_.get_uint(name);
  if (layers && *layers != values)
    fail(key, "found an array of " + std::to_string(values) + ", expected one " + what + " for each of the " +
                  std::to_string(*layers) + " layers");
}

// The one value that all entries of the array have.
template <typename Value>
Value ConfigKeys::same_value(const char* key, const std::vector<Value>& all, const std::string& what) const {
  if (all.empty()) fail(key, "found an empty array, expected one " + what + " for all layers");
  const auto other = std::ranges::find_if(all, [&](const Value& value) { return value != all.front(); });
  // Different values are the better reason for an Error, so the length is compared only if all values are equal.
  if (other == all.end()) {
    require_one_a_layer(key, all.size(), what);
    return all.front();
  }
  const auto text = [&](const Value& value) {
    if constexpr (std::is_same_v<Value, double>) {
      return shown(key, value);
    } else {
      return std::string(value);
    }
  };
  fail(key,
       "the layers differ: " + text(all.front()) + " in layer 0, " + text(*other) + " in layer " +
           std::to_string(other - all.begin()) + ", expected one " + what + " for all layers",
       "models whose layers differ in shape are not supported");
}

// The value of an array whose entries are equal; absent if the key has no array.
std::optional<double> ConfigKeys::same_of_all(const char* key) const {
  if (!file_.array_length(full(key))) return std::nullopt;
  const bool has_bools = file_.type_of(full(key)) == "array of bool";
  return same_value(key, numbers(key), has_bools ? "bool" : "number");
}

// An array of equal values may hold floats, so it must be a whole number too. A single value is an unsigned integer.
std::optional<int64_t> ConfigKeys::size(const char* key, int64_t max) const {
  const std::string expected = ", expected 1 to " + std::to_string(max);
  if (const auto same = same_of_all(key)) {
    if (!(*same >= 1 && *same <= static_cast<double>(max)) || *same != std::floor(*same))
      fail(key, "found " + std::to_string(*same) + expected);
    return static_cast<int64_t>(*same);
  }
  const auto value = file_.get_uint(full(key));
  if (!value) return std::nullopt;
  if (*value < 1 || *value > static_cast<uint64_t>(max)) fail(key, "found " + std::to_string(*value) + expected);
  return static_cast<int64_t>(*value);
}

// A missing key gets GgufFile's own Error.
int64_t ConfigKeys::require_size(const char* key, int64_t max) const {
  if (!file_.has(full(key))) file_.require_uint(full(key));
  return *size(key, max);
}

// Converters write 0, or an array of zeros, for a part that the model lacks. Zero is answered first, because size()
// refuses it.
int64_t ConfigKeys::count(const char* key, int64_t max) const {
  if (const auto same = same_of_all(key); same == 0.0) return 0;
  if (!file_.array_length(full(key)) && file_.get_uint(full(key)).value_or(0) == 0) return 0;
  return *size(key, max);
}

std::optional<double> ConfigKeys::number(const char* key) const {
  const auto same = same_of_all(key);
  const auto value = same ? same : file_.get_float(full(key));
  if (value && !std::isfinite(*value)) fail(key, "found a number that is not finite, expected a finite one");
  return value;
}

double ConfigKeys::require_number(const char* key) const {
  if (!file_.has(full(key))) file_.require_float(full(key));
  return *number(key);
}

std::optional<std::string> ConfigKeys::text(const char* key) const {
  if (file_.type_of(full(key)) != "array of string") return file_.get_string(full(key));
  return std::string(same_value(key, *file_.get_strings(full(key)), "text"));
}

std::optional<bool> ConfigKeys::flag(const char* key) const {
  if (const auto same = same_of_all(key)) return *same != 0;
  return file_.get_bool(full(key));
}

}  // namespace tandem
