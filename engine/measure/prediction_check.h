// Compares the predicted times of a plan's operators with their times in recorded runs, by kind, shape and device
// (H8, engine/plan/prediction/predict.h).
//
// Contract: pure. A device that measures only whole steps is compared step by step. Neighbours of one name on one
// device (parts of one matmul) are compared as one. Operators without a prediction (writing to the KV cache) and
// operators without a span are left out.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/plan/plan.h"
#include "engine/plan/prediction/predict.h"
#include "engine/run/pass/timeline.h"

namespace tandem {

struct CheckedOperator {
  std::string device, kind, shape;                     // "npu:0", "matmul", "256 tokens, K 576, rows 1536"
  int64_t count = 0;                                   // operators of the plan with this kind and shape
  double predicted_seconds = 0, measured_seconds = 0;  // of one operator; medians over all of them, and over the runs
  double error() const { return (predicted_seconds - measured_seconds) / measured_seconds; }
};

// runs: one timeline for each recorded run of the plan.
std::vector<CheckedOperator> check_predictions(const Plan& plan, const Prediction& prediction,
                                               std::span<const Timeline> runs);

// Median of |error|, each operator of the plan counting once (a row as often as its count); 0 without rows.
double median_error(std::span<const CheckedOperator> rows);

}  // namespace tandem
