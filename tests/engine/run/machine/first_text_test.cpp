// Whether a first text waits for a card's kernels.
#include "engine/run/machine/first_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem {
namespace {

using ::testing::HasSubstr;

// A model of a billion 4-bit parameters, 16 cores and 132 units, as measured on an
// H100 (docs/measured/graphics_card.md).
FirstText billion(const TextAsked& asked, double compile_seconds = 0) {
  return predict_first_text(asked, 0.7e9, 1.2e9, 16, 132, compile_seconds);
}

TEST(FirstText, waits_where_the_card_pays_for_its_compiler) {
  EXPECT_TRUE(billion({8, 128}).waits());
  EXPECT_TRUE(billion({2048, 16}).waits());
  EXPECT_FALSE(billion({8, 4}).waits());
  EXPECT_FALSE(billion({8, 128}, 60).waits()) << "a compiler that was seen to take a minute";
  EXPECT_TRUE(billion({8, 1}, 0.01).waits());
}

TEST(FirstText, waits_where_nobody_knows_how_long_it_is) { EXPECT_TRUE(billion({8, -1}, 60).waits()); }

// 0.7 GB are read 100 times, at 3 x 11 GB/s and at 132 GB/s. A prompt takes 2 x 1.2 GFLOP a token, at 16 x 40 and at
// 132 x 50 GFLOP/s.
TEST(FirstText, is_predicted_of_weights_read_and_of_a_prompts_products) {
  const FirstText tokens = billion({0, 100}), prompt = billion({1000, 0});
  EXPECT_NEAR(tokens.host_seconds, 70e9 / 33e9, 1e-9);
  EXPECT_NEAR(tokens.card_seconds, 70e9 / 132e9, 1e-9);
  EXPECT_NEAR(prompt.host_seconds, 2400e9 / 640e9, 1e-9);
  EXPECT_NEAR(prompt.card_seconds, 2400e9 / 6600e9, 1e-9);
}

TEST(FirstText, says_what_is_done_and_why) {
  EXPECT_THAT(describe(billion({8, 128}), "vulkan:0"),
              AllOf(HasSubstr("waits until the kernels of vulkan:0 are compiled"), HasSubstr("without it 2.7 s")));
  EXPECT_THAT(describe(billion({8, 4}), "vulkan:0"),
              HasSubstr("begins without vulkan:0, which joins when its kernels are compiled"));
  EXPECT_THAT(describe(billion({8, -1}), "vulkan:0"), Not(HasSubstr("predicted")));
}

}  // namespace
}  // namespace tandem
