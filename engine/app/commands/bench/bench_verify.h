// Verifies the logits of a test before `tandem bench` times it. The text is empty afterwards.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/app/commands/bench/bench_row.h"
#include "engine/app/commands/bench/verification.h"
#include "engine/app/common_flags.h"
#include "engine/run/engine.h"

namespace tandem::app {

// Tokens [begin, end) of one endless text. `text` always has its beginning, so a text that is too long need only
// be cut.
std::vector<int32_t> some_tokens(int64_t vocabulary, int64_t begin, int64_t end);
void fill_context(Engine& engine, Sequence& text, int64_t depth);

// Compares a short prompt and single tokens after it with the host's own loops (plan host-only, same --act). Error if
// their logits differ.
Verification verify_against_host(const CommonFlags& flags, Engine& engine);

// An encoder's vector of the row's tokens, the mean over them. It is a text of its own.
std::vector<float> vector_of_row(Engine& engine, const BenchRow& row);
// Compares the vectors of an encoder's rows with those of the host's own loops, and says so in each row. Error if
// they differ.
void verify_encoder(const CommonFlags& flags, Engine& engine, std::vector<BenchRow>& rows);

// Compares the row's tokens as they are timed with the same tokens in other pieces, which plans cut differently. Error
// if the last logits differ. Returns what was compared for this row and, before it, with the host.
Verification verify_row(Engine& engine, Sequence& text, const BenchRow& row, const Verification& with_host);

}  // namespace tandem::app
