// Shares the products of experts between two devices that see one memory. Each device computes some rows of every
// expert, so the shares do not depend on which experts are chosen.
//
// Contract: pure functions. Seconds come from the caller, either estimated for this machine or modelled.
#pragma once

#include <cstdint>

#include "engine/device/operator.h"
#include "engine/plan/partition/sharing_costs.h"

namespace tandem {

// The number of rows that the first device keeps, from row 0 on, so that both devices end soonest. A multiple of 64, or
// all rows if sharing does not pay.
int64_t best_grouped_rows(const Operator& op, const SharingCosts& costs);

}  // namespace tandem
