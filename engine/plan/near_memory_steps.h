// Makes plans for models with experts beside near-memory units, as GPU-NDP runs a layer (G2 to G5).
//
//   route ── sides ─┬─ gate and up, unit, down of a part of each expert (every near-memory unit) ─┬─ sum
//                   └─ gate and up, unit, down of whole experts (GPU) ───────────────────────────┘
//
// The sides decide while a pass runs which experts the GPU computes (engine/device/operators/expert_sides.h), so no
// plan depends on the choices. The host beside the units does what they do not do: it decides, and adds up the results.
//
// A unit has some panels of 64 rows of gate and up. With UnitSplit::outer it has some panels of down too, and reads the
// activations of all units. With UnitSplit::inner it has its own features' columns of down, and the GPU adds the
// partial sums in the order of the units.
//
// Contract: pure functions. Error: no units, units that do not hold the experts, no device that decides, experts that
// move. A model without experts gets a note.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/plan/plan.h"
#include "engine/plan/plan_request.h"
#include "engine/plan/strategy.h"

namespace tandem {

using UnitRange = std::pair<int64_t, int64_t>;  // [begin, end)

Plan plan_with_units(const PlanRequest& request, const char* name, const NearMemoryRules& rules);

// G2: [begin, end) for each unit: whole blocks of `count`, as even as possible, the first units with one more. A unit
// may have nothing. The last block may be shorter.
std::vector<UnitRange> parts_of_units(int64_t count, int64_t block, int64_t units);

}  // namespace tandem
