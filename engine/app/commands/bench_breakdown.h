// --breakdown of `tandem bench`: where a row's time went, by device and kind of operator (engine/measure/breakdown.h).
//
// Contract: one more repetition is recorded for it; it counts for nothing else. All times are measured.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "engine/app/commands/bench_row.h"

namespace tandem::app {

void print_breakdown(const BenchRow& row);  // a table with its caption; without a breakdown nothing
void add_breakdown(nlohmann::json& object, const BenchRow& row);

}  // namespace tandem::app
