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
// The factor on the queries of a position, as TemperatureConfig says.
double query_temperature(const TemperatureConfig& temperature, int64_t position);
// Fills [positions, rope_dim / 2, 2]: cos, sin. Uses the long factors for more positions than the original context.
// With a temperature they are those of queries, which the table multiplies as it turns them. An interrupt ends a long
// table by Interrupted (sync/long_wait.h).
void fill_rope_table(const RopeConfig& rope, int64_t positions, float* table,
                     const TemperatureConfig* temperature = nullptr);

// Factors on queries of layers without a rotation, as cos and sin of [positions, head_dim / 2] pairs: (factor, 0).
void fill_temperature_table(const TemperatureConfig& temperature, int64_t positions, int64_t head_dim, float* table);

}  // namespace tandem
