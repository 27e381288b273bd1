// What `tandem bench` prints of its rows: a table with llama-bench's columns, CSV, JSON.
//
// Contract: all but print_verified() writes to standard output; all times are measured ones.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "engine/app/commands/bench_row.h"
#include "engine/app/common_flags.h"
#include "engine/run/engine.h"

namespace tandem::app {

// An array of objects with llama-bench's names.
nlohmann::json bench_json(const std::vector<BenchRow>& rows, const CommonFlags& flags, const Engine& engine);
void print_bench_csv(const nlohmann::json& array);  // of bench_json()
void print_bench_table(const std::vector<BenchRow>& rows, const Engine& engine);
// What was compared before timing, and how; to standard error.
void print_verified(const std::vector<BenchRow>& rows, const Engine& engine);

}  // namespace tandem::app
