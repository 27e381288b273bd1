// The laboratory's result as JSON.
//
// Contract: times are in microseconds (names end in _us); absent figures are null. Schema 2: {"schema", "bench",
// "clock", "machine", "clock_us", "devices": [{"id", …, "limit": {"round_trip", …} or null, "rows": [{"policy",
// "work_us", "status", "reason", …}]}], "targets", "decode" or null, "warnings", "seconds"}. Schema 1 had one limit for
// the whole run and another one in each row. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "engine/lab/results.h"

namespace tandem::sync_lab {

inline constexpr int kSyncSchema = 2;

nlohmann::json sync_json(const LabResult& result);

}  // namespace tandem::sync_lab
