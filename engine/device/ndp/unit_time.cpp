// The arithmetic of a described unit. Figures come from its id, and nothing is measured.
#include "engine/device/ndp/unit_time.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "sync/error.h"
#include "sync/parse_number.h"

namespace tandem {
namespace {

constexpr double kGiga = 1e9, kGibibyte = 1024.0 * 1024 * 1024;
// More is no memory of a machine, and its bytes would not fit a whole number.
constexpr double kMostGibibytes = 1 << 20;

// Replaces the value by a parameter of this name, if there is one.
void take(const DeviceParameters& parameters, const char* name, double unit, double& value) {
  const auto found = parameters.find(name);
  if (found == parameters.end()) return;
  const std::optional<double> given = parse_number<double>(found->second);
  if (!given || !std::isfinite(*given) || *given <= 0 || (unit == kGibibyte && *given > kMostGibibytes))
    throw Error("a near-memory unit has no such " + std::string(name), "'" + found->second + "'",
                unit == kGibibyte ? "It is a number above 0, at most 1048576" : "It is a number above 0");
  value = *given * unit;
}

}  // namespace

// The paper's machine (GPU-NDP, table I), in bytes and multiply-adds a second.
NearMemory default_near_memory() {
  NearMemory unit;
  unit.bytes_per_second = 102.4 * kGiga, unit.macs_per_second = 51.2 * kGiga;
  unit.link_bytes_per_second = 63 * kGiga;
  unit.host_bytes_per_second = 89.6 * kGiga;
  unit.card_bytes_per_second = 960 * kGiga, unit.card_macs_per_second = 99000 * kGiga;
  unit.card_memory_bytes = 16 * kGibibyte;
  unit.memory_bytes = static_cast<int64_t>(32 * kGibibyte);
  return unit;
}

// Every figure can be replaced in the device's id, as in ndp:0?gbps=51.2.
NearMemory near_memory_of(const DeviceParameters& parameters) {
  NearMemory unit = default_near_memory();
  auto bytes = static_cast<double>(unit.memory_bytes);
  take(parameters, "gbps", kGiga, unit.bytes_per_second);
  take(parameters, "gmacs", kGiga, unit.macs_per_second);
  take(parameters, "gib", kGibibyte, bytes);
  take(parameters, "link", kGiga, unit.link_bytes_per_second);
  take(parameters, "host", kGiga, unit.host_bytes_per_second);
  take(parameters, "card_gbps", kGiga, unit.card_bytes_per_second);
  take(parameters, "card_gmacs", kGiga, unit.card_macs_per_second);
  take(parameters, "card_gib", kGibibyte, unit.card_memory_bytes);
  unit.memory_bytes = std::max<int64_t>(1, static_cast<int64_t>(bytes));
  return unit;
}

// Two operations of flops are one multiply-add.
Cost unit_cost(const NearMemory& unit, const Operator& op) {
  const Work of = work(op);
  Cost cost;
  cost.bytes = of.weight_bytes, cost.flops = of.flops;
  cost.seconds = std::max(of.weight_bytes / unit.bytes_per_second, of.flops / 2 / unit.macs_per_second);
  return cost;
}

}  // namespace tandem
