// A time at a number of tokens between two measured ones: within a kernel's token blocks and a cache's reach, time is
// close to linear in the tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace tandem {

// sizes: rising, not empty. seconds(size) is asked for the sizes that are needed only: the one that S is, or the two
// around it. Above the largest size the line through the last two goes on (through zero with one size); below the
// smallest, the smallest holds.
double interpolate_tokens(std::span<const int64_t> sizes, int64_t S, const std::function<double(int64_t)>& seconds);

}  // namespace tandem
