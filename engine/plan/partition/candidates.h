// The ways to cut one matmul between a GPU and an NPU: each is a pure function that lists its cuts. The solver (H9)
// prices all of them and takes the best.
//
// Source: HeteroLLM 4.1.1 (H2 to H5), 4.1.2 (H6), 5.2.2 (H5, H12).
#pragma once

#include <optional>
#include <vector>

#include "engine/plan/partition/cut.h"
#include "engine/plan/partition/token_layout.h"

namespace tandem {

// H2: output rows cut between the two sides, all tokens on both. One cut for each number of NPU rows in steps of
// limits.row_step, rising. None where no graphs have exactly S tokens together, or only with graphs of less than
// limits.token_step: hybrid cutting (H5) pads.
RowCuts row_cutting(int64_t S, int64_t N, const CutLimits& limits);

// H3: one pre-compiled size of tokens on the NPU, the odd rest on the GPU: 300 tokens are 256 on the NPU and 44 on the
// GPU. One cut for each size below S that is a multiple of limits.token_step, rising.
std::vector<Cut> sequence_cutting(int64_t S, int64_t N, const CutLimits& limits);

// H4: several pre-compiled sizes in turn on the NPU, the rest of the tokens on the GPU: 600 tokens are 512 and 32 on
// the NPU and 56 on the GPU. One cut for each multiple of limits.token_step below S that several sizes add up to,
// largest size first.
std::vector<Cut> multi_sequence_cutting(int64_t S, int64_t N, const CutLimits& limits);

// H5: tokens and rows cut at once. The NPU runs standard sizes and some of the rows; the GPU has the other rows, and
// what tokens the NPU's graphs leave over. There are three ways to lay out the NPU's tokens, each with every number of
// rows, rising; those of fewer tokens come first:
//   padded   all tokens in the next standard size, so that padding costs fewer rows than it would cost alone
//   pipe     all tokens in several sizes, the margin padded
//   fewer    some tokens without padding; the GPU runs the margin for all rows ("both row and sequence length": the
//            margin alone is too small to keep the GPU busy)
std::vector<RowCuts> hybrid_cutting(int64_t S, int64_t N, const CutLimits& limits);

// H6: rows cut while decoding, where both sides are bound by reading weights. Each side gets rows in the ratio of the
// bandwidths that they reach with the other at work, so that together they use all of the memory's:
//   share of the GPU = B_gpu / (B_gpu + B_npu)
// The paper prints no formula; this one lets both sides end together.
struct DecodeRates {
  double gpu = 0, npu = 0;  // bytes (or rows) a second, both at work
};
// Rows of N for the NPU, rounded to row_step, at least one step on either side; 0 where N has but one step.
int64_t npu_rows_of(int64_t N, int64_t row_step, const DecodeRates& rates);
// The cut; everything on the GPU where no graph has exactly S tokens, or N has but one step.
Cut decode_cutting(int64_t S, int64_t N, const CutLimits& limits, const DecodeRates& rates);

// H12, the baseline "Padding": the NPU alone, all tokens in the next standard size (300 tokens run in a graph of 512).
// Tokens that the largest size does not hold go in several graphs. Nothing: the buffers do not hold the padding.
std::optional<Cut> padding(int64_t S, int64_t N, const CutLimits& limits);

// H12, the baseline "Pipe": the NPU alone, several standard sizes in turn, largest first; what is left over, the
// margin, is padded to the smallest size that holds it. Nothing: the buffers do not hold the padding, and no sizes add
// up to S.
std::optional<Cut> pipe(int64_t S, int64_t N, const CutLimits& limits);

}  // namespace tandem
