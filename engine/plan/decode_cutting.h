// H6: rows cut while decoding, where both sides are bound by reading weights: each gets rows in the ratio of the
// bandwidths that they reach with the other at work, so that together they use all of the memory's.
//
//   share of the GPU = B_gpu / (B_gpu + B_npu)
//
// Source: HeteroLLM 4.1.2. The paper prints no formula; this one lets both end together.
#pragma once

#include "engine/plan/cut.h"

namespace tandem {

struct DecodeRates {
  double gpu = 0, npu = 0;  // bytes (or rows) a second, both at work
};

// Rows of N for the NPU, rounded to row_step, at least one step on either side; 0 where N has but one step.
int64_t npu_rows_of(int64_t N, int64_t row_step, const DecodeRates& rates);

// The cut; everything on the GPU where no graph has exactly S tokens, or N has but one step.
Cut decode_cutting(int64_t S, int64_t N, const CutLimits& limits, const DecodeRates& rates);

}  // namespace tandem
