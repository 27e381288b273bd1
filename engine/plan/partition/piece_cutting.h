// Where a prompt that is too long for one pass is cut (NPUMoE calls it chunked prefill, N5): into as few passes as hold
// it, of about the same length, or as long as they may be, whichever is predicted to end first. A short last pass is a
// slow one: what a weight costs to be read and unpacked is shared by few tokens.
//
// Contract: a pure function.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace tandem {

// Lengths of the passes, in order; they add up to `total` (at least 1), and none is above `most`. seconds(begin, S):
// predicted, of S tokens behind `begin` others of the prompt; it is asked some
// hundred times, however long the prompt is.
std::vector<int64_t> cut_pieces(int64_t total, int64_t most,
                                const std::function<double(int64_t begin, int64_t S)>& seconds);

}  // namespace tandem
