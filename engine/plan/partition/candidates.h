// The ways to cut one matmul of S tokens and N rows between a GPU and an NPU. Each one is a function that lists its
// cuts. The solver (H9) prices them and takes the best.
//
// Contract: pure functions.
//
// Source: HeteroLLM 4.1.1 (H2 to H5), 4.1.2 (H6), 5.2.2 (H5, H12).
#pragma once

#include <optional>
#include <vector>

#include "engine/plan/partition/cut.h"
#include "engine/plan/partition/token_layout.h"

namespace tandem {

// H2: output rows are cut between the two sides, and both have all tokens. One cut for each number of NPU rows in steps
// of limits.row_step, rising. Empty if no graphs add up to exactly S tokens. Also empty if S is above limits.token_step
// and one of several graphs is below it; hybrid cutting (H5) pads instead.
RowCuts row_cutting(int64_t S, int64_t N, const CutLimits& limits);

// H3: one pre-compiled size of tokens on the NPU, and the odd rest on the GPU. For example, 300 tokens are 256 on the
// NPU and 44 on the GPU. One cut for each size below S that is a multiple of limits.token_step, rising.
std::vector<Cut> sequence_cutting(int64_t S, int64_t N, const CutLimits& limits);

// H4: several pre-compiled sizes in turn on the NPU, largest first, and the other tokens on the GPU. For example, 600
// tokens are 512 and 32 on the NPU and 56 on the GPU. One cut for each multiple of limits.token_step below S that needs
// several sizes, rising.
std::vector<Cut> multi_sequence_cutting(int64_t S, int64_t N, const CutLimits& limits);

// H5: tokens and rows are cut at the same time. The NPU runs standard sizes and some of the rows. The GPU has the other
// rows, and the tokens that the NPU's graphs leave over. There are three ways to lay out the NPU's tokens. Each comes
// with every number of rows, rising, and layouts of fewer tokens come first:
//   padded   All tokens are in the next standard size. Padding then costs only the NPU's rows.
//   pipe     All tokens are in several sizes, and the margin is padded.
//   fewer    Some tokens run without padding, and the GPU runs the margin for all rows ("both row and sequence
//            length"). The margin alone is too small to keep the GPU busy.
std::vector<RowCuts> hybrid_cutting(int64_t S, int64_t N, const CutLimits& limits);

// H6: rows are cut while decoding, where both sides are bound by reading weights. Each side gets rows in proportion to
// the bandwidth that it reaches while the other side works. So both together use all of the memory's bandwidth:
//   share of the GPU = B_gpu / (B_gpu + B_npu)
// The paper prints no formula. With this one both sides end together.
struct DecodeRates {
  double gpu = 0, npu = 0;  // bytes (or rows) a second while both work
};
// The NPU's rows of N, rounded to row_step, with at least one step on either side. 0 if N has only one step.
int64_t npu_rows_of(int64_t N, int64_t row_step, const DecodeRates& rates);
// The cut with these rows. Everything is on the GPU if no graphs add up to exactly S tokens, or if N has only one step.
Cut decode_cutting(int64_t S, int64_t N, const CutLimits& limits, const DecodeRates& rates);

// H12, the baseline "Padding": the NPU alone, with all tokens in the next standard size (300 tokens run in a graph of
// 512). More tokens than the largest size go in several graphs. Absent if the buffers do not hold the padding.
std::optional<Cut> padding(int64_t S, int64_t N, const CutLimits& limits);

// H12, the baseline "Pipe": the NPU alone, with several standard sizes in turn, largest first. The margin is padded to
// the smallest size that holds it. Absent if the buffers do not hold the padding and no sizes add up to S.
std::optional<Cut> pipe(int64_t S, int64_t N, const CutLimits& limits);

}  // namespace tandem
