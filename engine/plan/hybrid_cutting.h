// H5: tokens and rows cut at once. The NPU runs standard sizes and some of the rows; the GPU has the other rows, and
// what tokens the NPU's graphs leave over.
//
// Three ways to lay out the NPU's tokens, each with every number of rows:
//   padded   all tokens in the next standard size, so that padding costs fewer rows than it would cost alone
//   pipe     all tokens in several sizes, the margin padded
//   fewer    some tokens without padding; the GPU runs the margin for all rows ("both row and sequence length": the
//            margin alone is too small to keep the GPU busy)
//
// Source: HeteroLLM 4.1.1 and 5.2.2, hybrid-cutting.
#pragma once

#include "engine/plan/cut.h"

namespace tandem {

// Cuts of one layout stand together, their NPU rows rising.
std::vector<Cut> hybrid_cutting(int64_t S, int64_t N, const CutLimits& limits);

}  // namespace tandem
