// Forward passes in double precision of mixtures whose routers do more than rank scores. They have biases that only
// choose, groups of experts, or weights on inputs.
#pragma once

#include <map>
#include <span>
#include <string>

#include "tests/engine/run/reference_parts.h"

namespace tandem::testing {

using Forward = Rows (*)(const Weights&, std::span<const int32_t>);

// By the architecture's name.
const std::map<std::string, Forward>& mixture_forwards();

}  // namespace tandem::testing
