// The name of a device on the command line and in tests.
//
// Examples: "opencl:1", "npu" (the first one), "host", "slow:0?delay_us=100&name=value".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/device/device_factory.h"

namespace tandem {

struct DeviceId {
  std::string prefix;  // of the factory
  int index = 0;
  DeviceParameters parameters;
};

// Nothing when the text is not an id: its number is not a number, or a parameter has no name or occurs twice.
std::optional<DeviceId> parse_device_id(std::string_view text);

// "delay_us=100&name=value", in the order of names; "" for none.
std::string to_string(const DeviceParameters& parameters);

}  // namespace tandem
