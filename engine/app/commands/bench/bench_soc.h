// The tests of `tandem bench` on a chip's model clock (--soc): a separate table, and a member of each JSON object.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "engine/app/commands/bench/bench_row.h"
#include "engine/app/commands/bench/soc_clock.h"

namespace tandem::app {

// Modelled tokens/s of a row's test: the prompt in pieces of `chunk`, or the tokens one at a time.
double modelled_rate(const SocClock& clock, const BenchRow& row, int64_t chunk);

void print_soc_table(const SocClock& clock, const std::vector<BenchRow>& rows, int64_t chunk);
void add_model_clock(nlohmann::json& object, const SocClock& clock, const BenchRow& row, int64_t chunk);

}  // namespace tandem::app
