// The strategies of the folder strategies/: those that have a file each, and the table of baselines.
#pragma once

#include <span>

namespace tandem {

struct Strategy;
std::span<const Strategy* const> listed_strategies();  // one for each file; CMakeLists.txt of this folder generates it
std::span<const Strategy> baselines();                 // for studies; `--plan list` leaves them out

}  // namespace tandem
