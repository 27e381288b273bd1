// For tests of lists of one-token programs: an OpenCL device and two matrices of 4 x 64 values, x of zeros and y of
// ones. Without a device the test is skipped.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/device/opencl/opencl_device.h"
#include "sync/error.h"
#include "sync/pool.h"
#include "sync/waiter.h"
#include "tests/support/requirements.h"

namespace tandem::test {

class ListFixture {
 protected:
  static constexpr std::chrono::seconds kDeadline{60};

  ListFixture() { std::fill_n(y_.as<float>(), 4 * 64, 1.0f); }
  // Opens the device with one worker and this waiting policy.
  void open_on_one_core(sync::Policy sync_policy) {
    if (opencl_device_count().all == 0) SKIP_FOR_WANT_OF(opencl, "no OpenCL device");
    DeviceOptions options;
    options.gpu_family = KernelFamily::simd;
    options.gpu_cores = {0};
    options.sync_policy = sync_policy;
    try {
      device_ = open_opencl_device(0, options);
    } catch (const Error& error) {
      GTEST_SKIP() << "skipped: " << error.what();
    }
    context_.step = "pass", context_.device = "opencl:0", context_.deadline = kDeadline;
  }
  // Launches a sequence of this one program. A device that supports lists makes a list of it.
  void launch_listed(Program& program, std::vector<sync::WaitFor> waits, sync::Signal signal) {
    device_->launch(make_sequence(*device_, {{&program, std::move(waits), signal}}), 0);
  }
  // x += y for `tokens` tokens of 64 values.
  Operator add(int64_t tokens) { return {"add", Add{tokens, 64, {&x_, 0}, {&y_, 0}, 64, 64}}; }

  sync::Pool pool_;
  sync::FlagBank flags_{pool_, 4, "flags"};
  sync::Flag in_ = flags_.make("in"), out_ = flags_.make("out");
  sync::Slot& x_ = pool_.acquire(4 * 64 * 4, sync::SlotUse::activations, "x");
  sync::Slot& y_ = pool_.acquire(4 * 64 * 4, sync::SlotUse::activations, "y");
  std::unique_ptr<Device> device_;
  sync::WaitContext context_;
};

}  // namespace tandem::test
