#include "sync/duration_predictor.h"

#include <gtest/gtest.h>

#include "sync/waiter.h"

namespace tandem::sync {
namespace {

TEST(DurationPredictor, knows_nothing_at_first) { EXPECT_EQ(DurationPredictor().predict(), 0.0); }

TEST(DurationPredictor, forgets_the_first_sample_which_holds_the_hidden_compile) {
  DurationPredictor predictor;
  predictor.observe(0.150);
  EXPECT_EQ(predictor.predict(), 0.0) << "nobody should sleep that long";
  predictor.observe(0.001);
  EXPECT_DOUBLE_EQ(predictor.predict(), 0.001);
}

TEST(DurationPredictor, falls_quickly_and_rises_slowly) {
  DurationPredictor predictor;
  predictor.observe(1.0);
  predictor.observe(1.0);
  predictor.observe(0.5);  // half of the way down: 0.75; the error is |1 - 0.5| / 0.5 = 1
  EXPECT_DOUBLE_EQ(predictor.predict(), 0.75);
  EXPECT_DOUBLE_EQ(predictor.relative_error(), 1.0);
  predictor.observe(1.15);  // a sixteenth of the way up: 0.75 + 0.4 / 16 = 0.775
  EXPECT_DOUBLE_EQ(predictor.predict(), 0.775);
}

TEST(DurationPredictor, is_not_moved_far_by_one_interruption) {
  DurationPredictor predictor;
  predictor.observe(1.0);
  predictor.observe(1.0);
  predictor.observe(500.0);  // counts as 2: 1 + 1 / 16
  EXPECT_DOUBLE_EQ(predictor.predict(), 1.0625);
}

// A waiter that begins late must not wait for the whole duration again.
TEST(DurationPredictor, counts_what_is_left_from_where_the_work_began) {
  DurationPredictor predictor;
  EXPECT_EQ(predictor.predict_after(0.5), 0.0) << "nothing is known";
  predictor.observe(2.0);
  predictor.observe(2.0);
  EXPECT_DOUBLE_EQ(predictor.predict_after(0), 2.0);
  EXPECT_DOUBLE_EQ(predictor.predict_after(1.75), 0.25);
  EXPECT_EQ(predictor.predict_after(2.5), 0.0);
}

TEST(DurationPredictor, comes_down_from_a_prediction_that_made_its_waiter_oversleep) {
  DurationPredictor predictor;
  predictor.observe(1.0);
  predictor.observe(1.0);
  predictor.observe_overslept();
  EXPECT_DOUBLE_EQ(predictor.predict(), 0.875);  // one oversleep may be a late wake-up
  predictor.observe_overslept();
  EXPECT_DOUBLE_EQ(predictor.predict(), 0.875 * 0.75);
  predictor.observe_overslept();
  EXPECT_DOUBLE_EQ(predictor.predict(), 0.875 * 0.75 * 0.5);
  predictor.observe(10.0);  // seen in time, so it counts, and the series of oversleeps ends
  const double risen = predictor.predict();
  predictor.observe_overslept();
  EXPECT_DOUBLE_EQ(predictor.predict(), risen * 0.875);
  for (int i = 0; i < 30; ++i) predictor.observe_overslept();
  EXPECT_LT(predictor.predict(), 0.001);
}

}  // namespace
}  // namespace tandem::sync
