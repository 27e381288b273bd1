// Predicted times against measured ones, on made-up plans and timelines.
#include "engine/measure/prediction_check.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

Operator matmul(const std::string& name, int64_t rows, int64_t S = 4) {
  MatMul op;
  op.S = S;
  op.K = 64;
  op.row_end = rows;
  return {name, op};
}

Timeline timeline(std::initializer_list<Span> spans) {
  Timeline made;
  for (Span span : spans) {
    span.device = span.track;
    if (span.kind == SpanKind::none) span.kind = SpanKind::matmul;
    made.add(std::move(span));
  }
  return made;
}

class PredictionCheck : public ::testing::Test {
 protected:
  PredictionCheck() {
    // Two layers have one wide matmul each. Then come the parts of another matmul, and an operator without
    // a prediction.
    plan_.devices = {"npu:0"};
    plan_.steps = {{0, {matmul("a", 128)}, {}, false},
                   {0, {matmul("b", 128), matmul("c", 64, 8), matmul("c", 64, 2), {"kv", KvAppend{}}}, {}, true}};
    prediction_.steps = {{0, 2, {2}}, {2, 9, {2, 3, 1, 0}}};
  }
  Plan plan_;
  Prediction prediction_;
};

TEST_F(PredictionCheck, sets_each_kind_and_shape_beside_the_median_of_the_runs) {
  // a took 4, 1 and 1 s, with the median 1. b took 3, 3 and 9 s, with the median 3. Both have the same shape, and their
  // median (nearest rank) is 1. c took 5 s in two launches each time.
  const auto run = [](double a, double b) {
    return timeline({{"npu:0", "a", 0, a},
                     {"npu:0", "b", 10, 10 + b},
                     {"npu:0", "c", 20, 23},
                     {"npu:0", "c", 23, 25},
                     {"npu:0", "kv", 25, 26, 0, 0, 0, false, SpanKind::other_operator}});
  };
  const std::vector<Timeline> runs = {run(4, 3), run(1, 3), run(1, 9)};
  const auto rows = check_predictions(plan_, prediction_, runs);
  ASSERT_EQ(rows.size(), 2u) << "what has no prediction is left out";
  EXPECT_EQ(rows[0].shape, "4 tokens, K 64, rows 128");
  EXPECT_EQ(rows[0].count, 2);
  EXPECT_DOUBLE_EQ(rows[0].predicted_seconds, 2);
  EXPECT_DOUBLE_EQ(rows[0].measured_seconds, 1);
  EXPECT_DOUBLE_EQ(rows[0].error(), 1);
  EXPECT_EQ(rows[1].shape, "8 tokens, K 64, rows 64 + 2 tokens, K 64, rows 64");
  EXPECT_DOUBLE_EQ(rows[1].predicted_seconds, 4);
  EXPECT_DOUBLE_EQ(rows[1].measured_seconds, 5);
  EXPECT_DOUBLE_EQ(rows[1].error(), -0.2);
  EXPECT_EQ(rows[1].count, 1);
  EXPECT_DOUBLE_EQ(median_error(rows), 1) << "of 20 %, 100 % and 100 %";
}

TEST_F(PredictionCheck, takes_spans_of_one_name_for_operators_of_that_name_in_turn) {
  plan_.steps = {{0, {matmul("a", 128), matmul("b", 64), matmul("a", 128)}, {}, true}};
  prediction_.steps = {{0, 5, {2, 1, 2}}};
  const std::vector<Timeline> runs = {timeline({{"npu:0", "a", 0, 1}, {"npu:0", "b", 1, 2}, {"npu:0", "a", 2, 5}})};
  const auto rows = check_predictions(plan_, prediction_, runs);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].shape, "4 tokens, K 64, rows 128");
  EXPECT_EQ(rows[0].count, 2) << "both were measured";
}

TEST_F(PredictionCheck, compares_whole_steps_where_a_device_times_no_operators) {
  const std::vector<Timeline> runs = {
      timeline({{"npu:0", "a", 0, 2}, {"npu:0", plan_.steps[1].name(), 2, 14, 0, 0, 0, false, SpanKind::several}})};
  const auto rows = check_predictions(plan_, prediction_, runs);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].kind, kSeveral);
  EXPECT_DOUBLE_EQ(rows[1].predicted_seconds, 6);
  EXPECT_DOUBLE_EQ(rows[1].measured_seconds, 12);
}

TEST_F(PredictionCheck, looks_at_no_other_time) {
  Timeline run = timeline({{"npu:0", "a", 0, 2}});
  Span wait{"waits of npu:0", "before b", 2, 3}, modelled{"npu:0 (model clock)", "a", 0, 9};
  wait.kind = SpanKind::wait;
  wait.device = modelled.device = "npu:0";
  modelled.modelled = true;
  run.add(wait);
  run.add(modelled);
  run.add({"opencl:0", "b", 0, 5});
  const auto rows = check_predictions(plan_, prediction_, std::vector<Timeline>{run});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].count, 1);
  EXPECT_DOUBLE_EQ(rows[0].measured_seconds, 2);
  EXPECT_EQ(median_error({}), 0);
}

}  // namespace
}  // namespace tandem
