// The laboratory's result as JSON.
//
// Contract: times in microseconds (names end in _us), absent figures are null. Schema 1: {"schema", "bench", "clock",
// "machine", "limit", "devices": [{"id", …, "rows": [{"policy", "work_us", "status", "reason", …}]}], "targets",
// "decode" or null, "warnings", "seconds"}. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "engine/run/sync_lab/results.h"

namespace tandem::app {

inline constexpr int kSyncSchema = 1;

nlohmann::json sync_json(const sync_lab::LabResult& result);

}  // namespace tandem::app
