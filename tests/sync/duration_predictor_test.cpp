#include <gtest/gtest.h>

#include "sync/waiter.h"

namespace tandem::sync {
namespace {

TEST(DurationPredictor, knows_nothing_at_first) { EXPECT_EQ(DurationPredictor().predict(), 0.0); }

TEST(DurationPredictor, forgets_the_first_sample_which_holds_the_hidden_compile) {
  DurationPredictor predictor;
  predictor.observe(0.150);
  EXPECT_DOUBLE_EQ(predictor.predict(), 0.150) << "better than nothing until there is a second one";
  predictor.observe(0.001);
  EXPECT_DOUBLE_EQ(predictor.predict(), 0.001);
}

TEST(DurationPredictor, moves_an_eighth_of_the_way_to_each_new_sample) {
  DurationPredictor predictor;
  predictor.observe(1.0);
  predictor.observe(0.8);
  predictor.observe(1.6);  // 0.8 + (1.6 - 0.8) / 8 = 0.9; error |0.8 - 1.6| / 1.6 = 0.5
  EXPECT_DOUBLE_EQ(predictor.predict(), 0.9);
  EXPECT_DOUBLE_EQ(predictor.relative_error(), 0.5);
  predictor.observe(0.9);  // error 0: mean 0.25
  EXPECT_DOUBLE_EQ(predictor.relative_error(), 0.25);
}

TEST(DurationPredictor, comes_down_from_a_prediction_that_made_its_waiter_oversleep) {
  DurationPredictor predictor;
  predictor.observe(1.0);
  predictor.observe(1.0);
  predictor.observe_overslept();
  EXPECT_DOUBLE_EQ(predictor.predict(), 0.75);
  for (int i = 0; i < 30; ++i) predictor.observe_overslept();
  EXPECT_LT(predictor.predict(), 0.001);
}

}  // namespace
}  // namespace tandem::sync
