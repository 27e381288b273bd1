// Devices that the tests of one program share, closed when the last test has ended and not with the program's statics:
// by then a driver may have taken down its own (SwiftShader's queue then crashes when its device is destroyed).
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "engine/device/device.h"

namespace tandem::test {

class OpenOnce : public ::testing::Environment {
 public:
  std::map<std::string, std::unique_ptr<Device>> devices;
  void TearDown() override { devices.clear(); }
};

// Owned by GoogleTest, which is told of it before any test runs.
inline OpenOnce* const kOpenOnce = static_cast<OpenOnce*>(::testing::AddGlobalTestEnvironment(new OpenOnce));

}  // namespace tandem::test
