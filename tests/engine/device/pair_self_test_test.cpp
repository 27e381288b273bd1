// Hand-overs between every two devices that can be opened here, and between devices that do them wrongly.
#include "engine/device/pair_self_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/device/registry.h"
#include "sync/error.h"

namespace tandem {
namespace {

using testing::HasSubstr;

TEST(PairSelfTest, passes_both_ways_between_all_devices_that_are_here) {
  DeviceOptions options;
  options.gpu_cores = {0};
  sync::Pool pool;
  std::vector<std::unique_ptr<Device>> devices;
  for (const std::string& id : available_devices()) devices.push_back(open_device(id, options));
  ASSERT_GE(devices.size(), 2u) << "the host and the NPU are always there";
  for (size_t a = 0; a < devices.size(); ++a) {
    for (size_t b = a + 1; b < devices.size(); ++b) {
      for (const PairTest& test : test_pair(*devices[a], *devices[b], pool))
        EXPECT_TRUE(test.passed) << test.from << " to " << test.to << ": " << test.reason;
    }
  }
}

TEST(PairSelfTest, passes_where_memory_is_copied) {
  DeviceOptions options;
  options.gpu_cores = {0};
  options.force_copies = true;
  sync::Pool pool;
  const auto npu = open_device("npu:0", options);
  for (const std::string& id : available_devices()) {
    if (!id.starts_with("opencl") && !id.starts_with("vulkan")) continue;
    const auto gpu = open_device(id, options);
    for (const PairTest& test : test_pair(*npu, *gpu, pool))
      EXPECT_TRUE(test.passed) << test.from << " to " << test.to << ": " << test.reason;
  }
}

// A device that accepts every operator and computes nothing.
class IdleDevice : public Device {
 public:
  explicit IdleDevice(bool raises) : raises_(raises) { info_.id = "idle:0"; }
  const DeviceInfo& info() const override { return info_; }
  Support supports(const Operator&) const override { return {}; }
  std::unique_ptr<Program> prepare(std::span<const Operator>) override { return std::make_unique<Program>(); }
  void launch(std::shared_ptr<const LaunchSequence> sequence, uint32_t base) override {
    for (const PlannedLaunch& planned : sequence->launches()) {
      if (raises_ && planned.signal.flag) planned.signal.flag.raise(planned.signal.epoch + base);
    }
  }
  Cost estimate(std::span<const Operator>) const override { return {}; }
  void finish(std::chrono::milliseconds) override {}
  DeviceLab& lab() override { throw Error("it has none", info_.id); }

 private:
  DeviceInfo info_;
  bool raises_;
};

TEST(PairSelfTest, notices_a_flag_that_is_up_before_its_data) {
  IdleDevice hasty(true);
  const auto host = open_device("host", {});
  sync::Pool pool;
  for (const PairTest& test : test_pair(hasty, *host, pool)) {
    EXPECT_FALSE(test.passed) << test.from << " to " << test.to;
    EXPECT_THAT(test.reason, HasSubstr("old data"));
    EXPECT_THAT(test.reason, HasSubstr("idle:0"));
  }
}

TEST(PairSelfTest, gives_up_on_a_flag_that_never_comes_and_leaves_the_other_device_usable) {
  IdleDevice silent(false);
  const auto host = open_device("host", {}), npu = open_device("npu:0", {});
  sync::Pool pool;
  for (const PairTest& test : test_pair(silent, *host, pool, std::chrono::milliseconds(100))) {
    EXPECT_FALSE(test.passed) << test.from << " to " << test.to;
    EXPECT_THAT(test.reason, HasSubstr("deadline"));
  }
  for (const PairTest& test : test_pair(*npu, *host, pool)) EXPECT_TRUE(test.passed) << test.reason;
}

}  // namespace
}  // namespace tandem
