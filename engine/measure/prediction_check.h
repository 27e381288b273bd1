// Predicted against measured: what a plan's operators were predicted to take (H8, engine/plan/prediction/predict.h)
// beside what recorded runs of it measured, by kind, shape and device.
//
// Contract: pure. A device that measures whole steps is compared step by step; neighbours of one name on one device
// (parts of one matmul) are compared as one. What has no prediction (writing to the KV cache) is left out, as are
// operators that a run has no span of.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/plan/plan.h"
#include "engine/plan/prediction/predict.h"
#include "engine/run/timeline.h"

namespace tandem {

struct CheckedOperator {
  std::string device, kind, shape;                     // "npu:0", "matmul", "256 tokens, K 576, rows 1536"
  int64_t count = 0;                                   // operators of the plan that are alike
  double predicted_seconds = 0, measured_seconds = 0;  // of one; medians over all of them, and over the runs
  double error() const { return (predicted_seconds - measured_seconds) / measured_seconds; }
};

// runs: one timeline for each recorded run of the plan.
std::vector<CheckedOperator> check_predictions(const Plan& plan, const Prediction& prediction,
                                               std::span<const Timeline> runs);

// Median of |error|, each operator of the plan counting once (a row as often as its count); 0 without rows.
double median_error(std::span<const CheckedOperator> rows);

}  // namespace tandem
