// `tandem bench -np 8 --mixed 100`: requests of random lengths that arrive at random and share passes.
//
// Each repetition has other requests, as each hour of a server has. So most passes have a number of tokens that is
// new, and the time to prepare plans counts.
#pragma once

#include "engine/app/commands/bench/bench.h"

namespace tandem::app {

// First the texts of some requests are compared with the texts that the same prompts get alone. Error if they differ.
int bench_mixed_command(const CommonFlags& flags, const BenchFlags& bench);

}  // namespace tandem::app
