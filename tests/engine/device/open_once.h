// Devices that the tests of one program share. They close after the last test and before the program's statics are
// destroyed. A driver may destroy its own statics first, and SwiftShader's queue crashes if its device is destroyed
// after that.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "engine/device/device.h"

namespace tandem::test {

// T owns a device.
template <typename T>
class SharedByTests : public ::testing::Environment {
 public:
  std::map<std::string, T> all;
  void TearDown() override { all.clear(); }
};

// GoogleTest owns the object. It is registered before any test runs.
template <typename T>
inline SharedByTests<T>* const kSharedByTests =
    static_cast<SharedByTests<T>*>(::testing::AddGlobalTestEnvironment(new SharedByTests<T>));

}  // namespace tandem::test
