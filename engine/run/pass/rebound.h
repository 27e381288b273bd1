// A plan for another buffer: the same steps, whose operators find one slot's values in another slot.
#pragma once

#include "engine/plan/plan.h"
#include "sync/pool.h"

namespace tandem {

// Operands in `from` move to the same place of `to`, which is at least as large. Contract: pure.
Plan rebound(Plan plan, const sync::Slot* from, const sync::Slot* to);

}  // namespace tandem
