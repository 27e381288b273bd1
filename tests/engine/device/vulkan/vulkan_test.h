// Shared parts of the tests of the Vulkan runtime: a device that the validation layers watch, and an operator whose
// result is exact on every driver.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "engine/device/vulkan/vulkan_tuning.h"
#include "sync/error.h"
#include "sync/pool.h"
#include "tests/support/message_of.h"
#include "tests/support/requirements.h"

namespace tandem::vulkan {

using test::message_of;

inline constexpr std::chrono::seconds kDeadline{60};

// Skips without a device, or fails if REQUIRE_VULKAN is set. A message of the validation layers, up to the device's
// end, fails the test.
class VulkanTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (vulkan_device_count().all == 0) SKIP_FOR_WANT_OF(vulkan, "no Vulkan device");
  }
  void TearDown() override {
    device_.reset();
    for (const std::string& message : messages_.take()) ADD_FAILURE() << "validation layers: " << message;
  }
  std::unique_ptr<Device> open(const DeviceOptions& options = {}, Tuning tuning = {}) {
    if (!tuning.cache_folder) tuning.cache_folder = "";
    if (validation_layers_present()) tuning.messages = &messages_;
    return open_device_tuned(0, options, tuning);
  }

  Messages messages_;
  sync::Pool pool_;
  sync::FlagBank flags_{pool_, 64, "flags"};
  std::unique_ptr<Device> device_;  // declared after the pool, so it drops its imports first
};

// x += y on [rows, width] small integers, with strides and odd offsets.
struct AddCase {
  AddCase(sync::Pool& pool, int64_t rows, int64_t width, sync::SlotUse x_use = sync::SlotUse::activations) {
    op.S = rows, op.width = width;
    op.x_stride = width + 3, op.y_stride = width + 1;
    floats = rows * op.x_stride;
    op.x = {&pool.acquire(static_cast<size_t>(floats + 1) * 4, x_use, "x"), 4};
    op.y = {&pool.acquire(static_cast<size_t>(rows * op.y_stride + 3) * 4, sync::SlotUse::activations, "y"), 12};
    fill(0, 1);
  }
  void fill(float x, float y) {
    std::fill_n(op.x.as<float>(), floats, x);
    std::fill_n(op.y.as<float>(), op.S * op.y_stride, y);
  }
  Operator as_operator(const char* name = "test.add") const { return {name, op}; }
  // Whether every element of the rows has the value, and the gaps still have `between`.
  ::testing::AssertionResult all_are(float value, float between = 0) const {
    for (int64_t i = 0; i < floats; ++i) {
      const float wanted = i % op.x_stride < op.width ? value : between;
      if (op.x.as<float>()[i] != wanted)
        return ::testing::AssertionFailure() << "x[" << i << "] is " << op.x.as<float>()[i] << ", not " << wanted;
    }
    return ::testing::AssertionSuccess();
  }

  Add op;
  int64_t floats = 0;
};

}  // namespace tandem::vulkan
