// The name of a device on the command line and in tests.
//
// Examples: "opencl:1", "npu" (the first one), "host", "slow:0?delay_us=100&name=value".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/device_factory.h"

namespace tandem {

struct DeviceId {
  std::string prefix;  // of the factory
  int index = 0;
  DeviceParameters parameters;
};

// Nothing when the text is not an id: its number is not a number, or a parameter has no name or occurs twice.
std::optional<DeviceId> parse_device_id(std::string_view text);

// The ids that a range names: "ndp:0-2?gib=32" is "ndp:0?gib=32" and so on up to 2. Any other text is returned as it
// is, also if it is no id. A range that falls, or that has more than kMostOfRange devices, is no range.
inline constexpr int kMostOfRange = 64;
std::vector<std::string> devices_of_range(std::string_view text);

// "delay_us=100&name=value", in the order of names; "" for none.
std::string to_string(const DeviceParameters& parameters);

}  // namespace tandem
