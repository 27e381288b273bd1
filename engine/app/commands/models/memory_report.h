// What `tandem info` says about memory: what the weights and the context take, where experts lie, and how long a token
// takes at least.
//
// Contract: nothing is loaded. With `speed` it measures the memory and the storage for about a second. Errors: those of
// memory_needs() and storage_rate().
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "engine/app/common_flags.h"
#include "engine/model/gguf.h"

namespace tandem::app {

// {"packed_bytes", "context", "context_bytes", "free_bytes", "free_in", "too_little", "experts": {...} or null,
// "speed": {...} or null}
nlohmann::json memory_json(const GgufFile& file, const CommonFlags& flags, bool speed);
void print_memory(const nlohmann::json& memory);

}  // namespace tandem::app
