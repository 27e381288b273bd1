// Rates of accepted drafts on disk, so that a process begins with what earlier ones learnt.
//
// Contract: Threads: the orchestrator's. Damaged or edited rates are not taken, and the priors stand then.
#pragma once

#include "engine/draft/acceptance_rates.h"
#include "engine/run/choice/disk_cache.h"

namespace tandem {

AcceptanceRates kept_draft_rates(const DiskCache& cache);
void keep_draft_rates(const AcceptanceRates& rates, DiskCache& cache);

}  // namespace tandem
