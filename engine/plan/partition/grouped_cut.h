// How the products of experts are shared by two devices that see one memory: each computes some rows of every expert,
// so that it does not matter who is chosen.
//
// Pure functions. Seconds are what the caller measured or modelled.
#pragma once

#include <cstdint>

#include "engine/device/operator.h"
#include "engine/plan/partition/sharing_costs.h"

namespace tandem {

// The rows that the first device keeps, from row 0 on, so that all is done soonest: a multiple of 64, or all of them
// where sharing does not pay.
int64_t best_grouped_rows(const Operator& op, const SharingCosts& costs);

}  // namespace tandem
