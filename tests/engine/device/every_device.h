// For suites that run on every kind of device: which there are, and whether a suite has left one out.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/device/registry.h"

namespace tandem::test {

// "opencl", "npu", ...: whatever the registry opens, also where there is none of it here.
inline std::vector<std::string> kinds_of_devices() {
  std::vector<std::string> all;
  for (const DeviceFactory& factory : device_factories()) all.emplace_back(factory.prefix);
  return all;
}

// The id of its first device.
inline std::string first_id(const DeviceFactory& factory) {
  return factory.prefix + std::string(factory.numbered ? ":0" : "");
}

// Of each kind of device that is one of these.
inline std::vector<std::string> first_ids(const std::vector<DeviceKind>& kinds) {
  std::vector<std::string> ids;
  for (const DeviceFactory& factory : device_factories()) {
    if (std::ranges::find(kinds, factory.kind) != kinds.end()) ids.push_back(first_id(factory));
  }
  return ids;
}

// Every kind of device in the registry is one that the suite runs on, those that only this program has included.
inline void expect_every_device(const std::vector<std::string>& tested) {
  for (const std::string& kind : kinds_of_devices())
    EXPECT_NE(std::ranges::find(tested, kind), tested.end()) << "the suite leaves out " << kind;
}

}  // namespace tandem::test
