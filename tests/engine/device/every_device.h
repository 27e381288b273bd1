// For suites that run on every kind of device: the list of kinds, and a check that a suite leaves none out.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/device/registry.h"

namespace tandem::test {

// All prefixes of the registry: "opencl", "npu", ..., also if this machine has no such device.
inline std::vector<std::string> kinds_of_devices() {
  std::vector<std::string> all;
  for (const DeviceFactory& factory : device_factories()) all.emplace_back(factory.prefix);
  return all;
}

// The id of the factory's first device.
inline std::string first_id(const DeviceFactory& factory) {
  return factory.prefix + std::string(factory.numbered ? ":0" : "");
}

// The id of the first device of each of these kinds.
inline std::vector<std::string> first_ids(const std::vector<DeviceKind>& kinds) {
  std::vector<std::string> ids;
  for (const DeviceFactory& factory : device_factories()) {
    if (std::ranges::find(kinds, factory.kind) != kinds.end()) ids.push_back(first_id(factory));
  }
  return ids;
}

// Expects that the suite runs on every kind of device in the registry, also on kinds that only this program registers.
inline void expect_every_device(const std::vector<std::string>& tested) {
  for (const std::string& kind : kinds_of_devices())
    EXPECT_NE(std::ranges::find(tested, kind), tested.end()) << "the suite leaves out " << kind;
}

}  // namespace tandem::test
