// The rotation table of RoPE: cos and sin for every position. It includes every scaling that the architectures need.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model/config.h"

namespace tandem {

// theta_i of pair i at position 1, after frequency factors, linear scaling or YaRN. [rope_dim / 2], double precision.
std::vector<double> rope_frequencies(const RopeConfig& rope);
// Factor on cos and sin: the file's attention factor (1 in most files), times YaRN's 0.1 ln(s) + 1.
double rope_magnitude(const RopeConfig& rope);
// Fills [positions, rope_dim / 2, 2]: cos, sin. Uses the long factors for more positions than the original context.
void fill_rope_table(const RopeConfig& rope, int64_t positions, float* table);

}  // namespace tandem
