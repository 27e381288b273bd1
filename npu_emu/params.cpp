#include "npu_emu/params.h"

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "sync/error.h"
#include "sync/json_text.h"

namespace tandem::npu_emu {

namespace {

using Json = nlohmann::ordered_json;  // keeps the keys in the order of the table

// One key of the file: how to read and write its value, and which values are allowed.
struct Key {
  const char* section;  // "" : top level
  const char* name;
  std::function<Json(const NpuParams&)> get;
  std::function<const char*(NpuParams&, const nlohmann::json&)> set;  // returns what was expected, or nullptr
};

// No physical value here is above 1e15; the bound keeps products of two of them finite.
constexpr double kLargest = 1e15;

// A key whose value is a number. The test is written so that NaN fails it too.
template <typename Access>
Key number(const char* section, const char* name, bool may_be_zero, Access access) {
  return {section, name, [access](const NpuParams& params) { return Json(access(const_cast<NpuParams&>(params))); },
          [access, may_be_zero](NpuParams& params, const nlohmann::json& json) -> const char* {
            const char* expected = may_be_zero ? "a number from 0 to 1e15" : "a number above 0, at most 1e15";
            if (!json.is_number()) return expected;
            const double value = json.get<double>();
            if (!(value <= kLargest) || value < 0 || (value == 0 && !may_be_zero)) return expected;
            access(params) = value;
            return nullptr;
          }};
}

// A key whose value is a whole number. Unsigned values are tested first, because a conversion to int64_t would make
// large ones negative.
template <typename Access>
Key count(const char* section, const char* name, int64_t largest, const char* expected, Access access) {
  return {section, name, [access](const NpuParams& params) { return Json(access(const_cast<NpuParams&>(params))); },
          [=](NpuParams& params, const nlohmann::json& json) -> const char* {
            if (!json.is_number_integer() && !json.is_number_unsigned()) return expected;
            if (json.is_number_unsigned() && json.get<uint64_t>() > static_cast<uint64_t>(largest)) return expected;
            const int64_t value = json.get<int64_t>();
            if (value < 1 || value > largest) return expected;
            access(params) = value;
            return nullptr;
          }};
}

// The name is the only text of the file.
Key name_key() {
  return {"", "name", [](const NpuParams& params) { return Json(params.name); },
          [](NpuParams& params, const nlohmann::json& json) -> const char* {
            if (!json.is_string() || json.get<std::string>().empty()) return "a text that is not empty";
            params.name = json.get<std::string>();
            return nullptr;
          }};
}

// The dataflow by its short name: weights, outputs or inputs stay in the cells.
Key dataflow_key() {
  return {"array", "dataflow", [](const NpuParams& params) { return Json(to_string(params.dataflow)); },
          [](NpuParams& params, const nlohmann::json& json) -> const char* {
            const auto found = json.is_string() ? dataflow(json.get<std::string>()) : std::nullopt;
            if (!found) return "\"ws\", \"os\" or \"is\"";
            params.dataflow = *found;
            return nullptr;
          }};
}

// The one table of the file's keys: reading, checking and writing all go through it.
const std::vector<Key>& keys() {
  constexpr const char* kSide = "a whole number from 1 to 4096";
  static const std::vector<Key> all = {
      name_key(),
      count("array", "rows", 4096, kSide, [](NpuParams& p) -> int64_t& { return p.array.rows; }),
      count("array", "cols", 4096, kSide, [](NpuParams& p) -> int64_t& { return p.array.cols; }),
      dataflow_key(),
      number("", "clock_hz", false, [](NpuParams& p) -> double& { return p.clock_hz; }),
      number("", "memory_bytes_per_second", false, [](NpuParams& p) -> double& { return p.memory_bytes_per_second; }),
      number("", "launch_seconds", true, [](NpuParams& p) -> double& { return p.launch_seconds; }),
      number("energy", "mac_fp16_joules", true, [](NpuParams& p) -> double& { return p.energy.mac_fp16_joules; }),
      number("energy", "mac_int8_joules", true, [](NpuParams& p) -> double& { return p.energy.mac_int8_joules; }),
      number("energy", "mac_int4_fp16_joules", true,
             [](NpuParams& p) -> double& { return p.energy.mac_int4_fp16_joules; }),
      number("energy", "sram_byte_joules", true, [](NpuParams& p) -> double& { return p.energy.sram_byte_joules; }),
      number("energy", "dram_byte_joules", true, [](NpuParams& p) -> double& { return p.energy.dram_byte_joules; }),
      number("energy", "static_watts", true, [](NpuParams& p) -> double& { return p.energy.static_watts; }),
      number("compiler", "fixed_seconds", true, [](NpuParams& p) -> double& { return p.compiler.fixed_seconds; }),
      number("compiler", "matmul_seconds", true, [](NpuParams& p) -> double& { return p.compiler.matmul_seconds; }),
      number("compiler", "byte_seconds", true, [](NpuParams& p) -> double& { return p.compiler.byte_seconds; }),
      count("compiler", "max_graph_bytes", int64_t{1} << 50, "a whole number of bytes, at least 1",
            [](NpuParams& p) -> int64_t& { return p.compiler.max_graph_bytes; }),
      count("compiler", "max_extent", int64_t{1} << 31, "a whole number from 1 to 2^31",
            [](NpuParams& p) -> int64_t& { return p.compiler.max_extent; }),
  };
  return all;
}

[[noreturn]] void reject(const std::string& source, const std::string& key, const std::string& expected) {
  throw Error("bad NPU parameter file", source + ": " + key, "expected " + expected + "; docs/npu.md has the schema");
}

// A key in messages: its section and its name.
std::string path_of(const std::string& section, const std::string& name) {
  return section.empty() ? name : section + "." + name;
}

// Each key is found, checked and set here, whether it is at the top or in a section.
void set_key(NpuParams& params, const std::string& section, const std::string& name, const nlohmann::json& value,
             const std::string& source) {
  for (const Key& key : keys()) {
    if (key.section != section || key.name != name) continue;
    if (const char* expected = key.set(params, value)) reject(source, path_of(section, name), expected);
    return;
  }
  reject(source, path_of(section, name), "no such key");
}

// Other names at the top are keys themselves, so a misspelt section is refused as an unknown key.
bool is_section(const std::string& name) { return name == "array" || name == "energy" || name == "compiler"; }

}  // namespace

// The energy of one multiply-add depends on the numbers that enter the cell.
double EnergyParams::mac_joules(NumberFormat format) const {
  switch (format) {
    case NumberFormat::int8:
      return mac_int8_joules;
    case NumberFormat::int4_fp16:
      return mac_int4_fp16_joules;
    case NumberFormat::fp16:
      break;
  }
  return mac_fp16_joules;
}

// A missing key keeps its default. An unknown key is an error, because a misspelt one would otherwise change nothing.
NpuParams parse_params(std::string_view text, const std::string& source) {
  const nlohmann::json json = parse_json(text);
  if (json.is_discarded()) reject(source, "the file", "valid JSON");
  if (!json.is_object()) reject(source, "the file", "one JSON object");
  if (!json.contains("schema") || json["schema"] != kParamsSchema)
    reject(source, "schema", std::to_string(kParamsSchema));
  NpuParams params;
  for (const auto& [name, value] : json.items()) {
    if (name == "schema") continue;
    if (!is_section(name)) {
      set_key(params, "", name, value, source);
      continue;
    }
    if (!value.is_object()) reject(source, name, "an object");
    for (const auto& [inner, inner_value] : value.items()) set_key(params, name, inner, inner_value, source);
  }
  return params;
}

NpuParams load_params(const std::string& path) {
  return parse_params(read_json_file(path, "the NPU parameter file"), path);
}

// The document has every key, also those that have their defaults.
std::string to_json(const NpuParams& params) {
  Json json = {{"schema", kParamsSchema}};
  for (const Key& key : keys()) {
    Json& place = *key.section ? json[key.section] : json;
    place[key.name] = key.get(params);
  }
  return json.dump(2);
}

}  // namespace tandem::npu_emu
