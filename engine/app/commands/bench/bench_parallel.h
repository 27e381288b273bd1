// `tandem bench -np 1,2,4,8`: many texts at once, with the columns of llama-batched-bench. For each width B it reads B
// prompts of PP tokens. Then it writes TG tokens for each text, one token of every text per pass.
#pragma once

#include "engine/app/commands/bench/bench.h"

namespace tandem::app {

// Before a width is timed, texts of that width are written together and alone, and their logits are compared. They must
// be equal bit for bit if the devices keep the numeric contract. Error if they differ.
int bench_parallel_command(const CommonFlags& flags, const BenchFlags& bench);

}  // namespace tandem::app
