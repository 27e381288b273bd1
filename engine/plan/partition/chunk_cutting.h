// Cuts a prompt that is too long for one pass into chunks (chunked prefill; NPUMoE, N5).
//
// Candidates are as few chunks as hold the prompt, of about equal length, and chunks as long as a pass can be. The
// candidate with the least predicted time is taken. A short last chunk is slow, because few tokens share the cost of
// reading and unpacking the weights.
//
// Contract: a pure function.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace tandem {

// Returns the lengths of the chunks in order. They add up to `total` (1 or more), and none is above `max_tokens`.
// seconds(begin, S): the predicted time of S tokens behind `begin` tokens of the prompt. It is called at most some
// hundred times, however long the prompt is.
std::vector<int64_t> cut_chunks(int64_t total, int64_t max_tokens,
                                const std::function<double(int64_t begin, int64_t S)>& seconds);

}  // namespace tandem
