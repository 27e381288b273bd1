// --breakdown of `tandem bench`: splits a row's time by device and kind of operator (engine/measure/breakdown.h).
//
// Contract: one more repetition is recorded for the breakdown. It counts for nothing else. All times are measured.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "engine/app/commands/bench/bench_row.h"

namespace tandem::app {

void print_breakdown(const BenchRow& row);  // a table with its caption; prints nothing without a breakdown
void add_breakdown(nlohmann::json& object, const BenchRow& row);

}  // namespace tandem::app
