// The list of strategies that the build found in strategies/. CMakeLists.txt of this folder generates it.
#pragma once

#include <span>

namespace tandem {

struct Strategy;
std::span<const Strategy* const> listed_strategies();

}  // namespace tandem
