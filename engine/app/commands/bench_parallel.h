// `tandem bench -np 1,2,4,8`: many texts at once, with the columns of llama-batched-bench. For each width B: B prompts
// of PP tokens are read, then TG tokens of each are written, one of every text a pass.
#pragma once

#include "engine/app/commands/bench.h"

namespace tandem::app {

// Before a width is timed, texts of that width are written together and alone, and their logits compared: bit for bit
// where the devices keep the numeric contract. Error where they differ.
int bench_parallel_command(const CommonFlags& flags, const BenchFlags& bench);

}  // namespace tandem::app
