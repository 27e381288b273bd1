// Prints the rows of `tandem bench`: a table with llama-bench's columns, CSV or JSON.
//
// Contract: everything except print_verified() goes to standard output. All times are measured.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "engine/app/commands/bench/bench_row.h"
#include "engine/app/common_flags.h"
#include "engine/run/engine.h"

namespace tandem::app {

// An array of objects with llama-bench's names.
nlohmann::json bench_json(const std::vector<BenchRow>& rows, const CommonFlags& flags, const Engine& engine);
void print_bench_csv(const nlohmann::json& array);  // array: from bench_json()
void print_bench_table(const std::vector<BenchRow>& rows, const Engine& engine);
// Prints to standard error how the logits were compared before timing.
void print_verified(const std::vector<BenchRow>& rows, const Engine& engine);

}  // namespace tandem::app
