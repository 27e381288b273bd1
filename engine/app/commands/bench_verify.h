// How `tandem bench` verifies the logits of what it is about to time. The engine's context is empty afterwards.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/app/commands/bench_row.h"
#include "engine/app/commands/verification.h"
#include "engine/app/common_flags.h"
#include "engine/run/engine.h"

namespace tandem::app {

// Tokens begin .. end of one endless text. What is in the context is always its beginning, so a context that is deep
// enough need only be cut.
std::vector<int32_t> some_tokens(int64_t vocabulary, int64_t begin, int64_t end);
void fill_context(Engine& engine, int64_t depth);

// A short prompt and single tokens behind it have the logits of the host's plain loops (plan host-only, same --act).
// Error where they do not.
Verification verify_against_host(const CommonFlags& flags, Engine& engine);

// The row's tokens as they are timed and once more in short pieces, which other plans cut otherwise, give the same
// logits behind them. Error where they do not. Returns what was compared of this row and, before it, with the host.
Verification verify_row(Engine& engine, const BenchRow& row, const Verification& with_host);

}  // namespace tandem::app
