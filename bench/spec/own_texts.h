// Question: how many tokens a pass does each part of sd.npu give on texts that the model itself writes (SF60 to SF76)?
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "bench/spec/cases.h"
#include "engine/run/engine.h"

namespace tandem::bench {

// Each prompt is continued greedily by `predict` tokens, plainly first, and then with drafts by each rule with and
// without S2 and S5. The ids are compared. Passes are counted, and not timed. kept: a file that gets the texts as
// cases, so that they can be replayed on another model; "": none. Returns the exit status.
int count_own_texts(Engine& engine, std::span<const Case> cases, int64_t predict, const std::string& kept);

}  // namespace tandem::bench
