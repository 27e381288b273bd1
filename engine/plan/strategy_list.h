// The strategies that the build found in strategies/: the list is generated (CMakeLists.txt here).
#pragma once

#include <span>

namespace tandem {

struct Strategy;
std::span<const Strategy* const> listed_strategies();

}  // namespace tandem
