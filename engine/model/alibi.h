// The slopes of ALiBi (Press et al. 2021, arXiv:2108.12409): a score is lowered by its head's slope times the distance
// between the two tokens.
#pragma once

#include <cstdint>
#include <vector>

namespace tandem {

// The slope of each head, the steepest first: 2^(-most / n), 2^(-2 most / n), ... for the largest power of two n that
// is not above `heads`. Further heads have those of 2 n heads that lie between: 2^(-most / 2n), 2^(-3 most / 2n), ...
// heads >= 1, most > 0. Each is the f32 nearest to that number.
std::vector<float> alibi_slopes(int64_t heads, float most);

}  // namespace tandem
