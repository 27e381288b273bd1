// Forward passes of encoders in double precision, written from the models' descriptions.
#pragma once

#include <cstdint>
#include <span>

#include "engine/model/gguf.h"
#include "tandem/types.h"
#include "tests/engine/run/reference_parts.h"

namespace tandem::testing {

// The states of a text's tokens behind the last layer, [tokens, H].
Rows reference_states(const GgufFile& file, std::span<const int32_t> ids);

// The mean of the states, the first one or the last one, of length 1.
Row pooled(const Rows& states, Pooling pooling);

// 1 minus the cosine of the angle between two vectors.
double cosine_distance(std::span<const double> a, std::span<const float> b);

}  // namespace tandem::testing
