// Devices that the tests of one program share. They are closed when the last test has ended, before the program's
// statics: by then a driver may have taken down its own, and SwiftShader's queue crashes when its device is destroyed.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "engine/device/device.h"

namespace tandem::test {

// T: has a device.
template <typename T>
class SharedByTests : public ::testing::Environment {
 public:
  std::map<std::string, T> all;
  void TearDown() override { all.clear(); }
};

// GoogleTest owns it. It is registered before any test runs.
template <typename T>
inline SharedByTests<T>* const kSharedByTests =
    static_cast<SharedByTests<T>*>(::testing::AddGlobalTestEnvironment(new SharedByTests<T>));

}  // namespace tandem::test
