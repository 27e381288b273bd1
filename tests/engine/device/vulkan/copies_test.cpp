// Devices without shared memory: which memory they copy, and which they do not.
#include <gmock/gmock.h>

#include "tests/engine/device/vulkan/vulkan_test.h"

namespace tandem::vulkan {
namespace {

class VulkanCopies : public VulkanTest {
 protected:
  void SetUp() override {
    VulkanTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    DeviceOptions options;
    options.force_copies = true;
    device_ = open(options);
  }
  void run(std::span<const Operator> operators) {
    const auto program = device_->prepare(operators);
    launch_one(*device_, *program, {}, {});
    device_->finish(kDeadline);
  }
};

TEST_F(VulkanCopies, are_reported) {
  EXPECT_FALSE(device_->info().zero_copy);
  EXPECT_THAT(device_->info().zero_copy_note, ::testing::HasSubstr("asked for"));
}

TEST_F(VulkanCopies, of_rows_leave_what_lies_between_them_to_the_host) {
  AddCase test(pool_, 4, 21);
  const Operator op = test.as_operator();
  const auto program = device_->prepare(std::span(&op, 1));
  for (int round = 1; round <= 3; ++round) {
    // Another device writes between the rows in every round.
    const auto mark = static_cast<float>(100 * round);
    for (int64_t i = 0; i < test.floats; ++i)
      if (i % test.op.x_stride >= test.op.width) test.op.x.as<float>()[i] = mark;
    launch_one(*device_, *program, {}, {});
    device_->finish(kDeadline);
    EXPECT_TRUE(test.all_are(static_cast<float>(round), mark));
  }
}

TEST_F(VulkanCopies, leave_device_local_slots_on_the_device) {
  AddCase first(pool_, 2, 48, sync::SlotUse::device_local), second(pool_, 2, 48);
  second.op.y = first.op.x, second.op.y_stride = first.op.x_stride;
  first.fill(-1, 5);  // the device's copy starts zeroed
  const std::vector<Operator> chain{first.as_operator(), second.as_operator()};
  run(chain);
  EXPECT_TRUE(first.all_are(-1, -1)) << "the host's side is untouched";
  EXPECT_TRUE(second.all_are(5)) << "yet the second operator read the first one's result";
}

// A bias whose weights change after the device made its copy. The change must have no effect.
class WeightsOfItsOwn : public VulkanCopies {
 protected:
  void SetUp() override {
    VulkanCopies::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    std::fill_n(weights_.as<float>(), kWidth, 2.0f);
    bias_.S = 3, bias_.width = kWidth, bias_.x = rows_.op.x, bias_.x_stride = rows_.op.x_stride;
    bias_.bias = {&weights_, 0};
  }
  void expect_one_upload() {
    const Operator op{"bias", bias_};
    const auto first = device_->prepare(std::span(&op, 1)), second = device_->prepare(std::span(&op, 1));
    int round = 0;
    for (const auto* program : {&first, &first, &second}) {  // another program reads the same weights
      launch_one(*device_, **program, {}, {});
      device_->finish(kDeadline);
      EXPECT_TRUE(rows_.all_are(static_cast<float>(2 * ++round)));
      std::fill_n(weights_.as<float>(), kWidth, 99.0f);
    }
  }

  static constexpr int64_t kWidth = 40;
  AddCase rows_{pool_, 3, kWidth};
  sync::Slot& weights_ = pool_.acquire(kWidth * sizeof(float), sync::SlotUse::weights, "bias");
  Bias bias_;
};

TEST_F(WeightsOfItsOwn, are_brought_once_before_the_first_launch) { expect_one_upload(); }

TEST_F(WeightsOfItsOwn, are_brought_anew_in_a_slot_that_is_used_again) {
  const Operator op{"bias", bias_};
  run(std::span(&op, 1));
  EXPECT_TRUE(rows_.all_are(2));
  pool_.release(weights_);
  sync::Slot& again = pool_.acquire(kWidth * sizeof(float), sync::SlotUse::weights, "other weights");
  ASSERT_EQ(&again, &weights_);
  std::fill_n(again.as<float>(), kWidth, 5.0f);
  run(std::span(&op, 1));
  EXPECT_TRUE(rows_.all_are(7));
}

TEST_F(WeightsOfItsOwn, are_there_beside_shared_memory_on_a_card_that_has_some) {
  Tuning tuning;
  tuning.own_weights = true;
  device_ = open_device_tuned(0, {}, tuning);
  if (!device_->info().zero_copy) GTEST_SKIP() << "skipped: memory is not shared at all";
  expect_one_upload();
}

}  // namespace
}  // namespace tandem::vulkan
