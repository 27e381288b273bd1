// The cost of waits in a decode step, for a plan of four steps and made-up figures.
#include "engine/lab/decode_meaning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/lab/lab_values.h"

namespace tandem::sync_lab {
namespace {

using ::tandem::testing::lab_result;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Plan two_devices() {
  Plan plan;
  plan.name = "tensor";
  plan.devices = {"opencl:0", "npu:0"};
  plan.steps = {{0, {}, {}, true}, {1, {}, {0}, true}, {0, {}, {1}, true}, {1, {}, {2}, true}};
  return plan;
}

TEST(DecodeMeaning, counts_the_waits_of_the_plan_and_the_end_of_each_device) {
  const DecodeMeaning meaning = decode_meaning("m.gguf", two_devices(), lab_result());
  EXPECT_EQ(meaning.steps, 4);
  EXPECT_EQ(meaning.waits, 3 + 2);
  EXPECT_EQ(meaning.model, "m.gguf");
  EXPECT_THAT(meaning.notes, ElementsAre(HasSubstr("npu:0")));  // its rows are not in the result
}

TEST(DecodeMeaning, multiplies_the_difference_of_the_medians_of_empty_steps) {
  const DecodeMeaning meaning = decode_meaning("m.gguf", two_devices(), lab_result());
  ASSERT_EQ(meaning.savings.size(), 4u);  // every policy except blocking, only for empty steps
  for (const DecodeSaving& saving : meaning.savings) {
    EXPECT_EQ(saving.waits, 2);  // one for the NPU's step, one for the end
    if (saving.policy == sync::Policy::spin) {
      EXPECT_NEAR(saving.saved_seconds, 2 * (50e-6 - 20e-6), 1e-12);
    } else if (saving.policy == sync::Policy::doorbell) {
      EXPECT_NEAR(saving.saved_seconds, 2 * (50e-6 - 0.11e-6), 1e-12);
    }
  }
}

TEST(DecodeMeaning, of_a_device_without_blocking_has_no_figure) {
  LabResult result = lab_result();
  std::erase_if(result.devices[0].rows, [](const SyncRow& row) { return row.policy == sync::Policy::blocking; });
  const DecodeMeaning meaning = decode_meaning("m.gguf", two_devices(), result);
  EXPECT_THAT(meaning.savings, IsEmpty());
  EXPECT_THAT(meaning.notes, ElementsAre(HasSubstr("blocking"), HasSubstr("npu:0")));
}

}  // namespace
}  // namespace tandem::sync_lab
