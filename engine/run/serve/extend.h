// Appends tokens to one text, however many, in chunks that the engine's passes can take.
//
// Contract
//   Chunks: PassPlans::chunks_of() cuts the tokens (N5). Each chunk is one pass with one extension.
//   Errors: tokens that do not fit the context, or are not in the vocabulary, are an Error before anything runs. If a
//   device fails or the caller interrupts, the sequence keeps the chunks that have run.
//   Threads: as for Engine. The machine's thread calls the callbacks. Ownership: everything is borrowed, and callbacks
//   end with the call.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "engine/run/cache/sequence.h"
#include "engine/run/engine.h"
#include "engine/run/pass/logits.h"

namespace tandem {

struct ExtendOptions {
  std::function<bool()> interrupted{};  // asked between two chunks; true: the call throws Interrupted
  // Called after each chunk, if there are several: `done` of `total` tokens have run.
  std::function<void(int64_t done, int64_t total)> progress{};
};

// Returns the last token's logits, [vocabulary].
Logits extend(Engine& engine, Sequence& sequence, std::span<const int32_t> ids, const ExtendOptions& options = {});

// Every token gets logits. `sink` gets those of each chunk, [n, vocabulary], with the index in ids of their first
// token. TextOptions::logit_rows bounds a chunk.
using LogitsSink = std::function<void(int64_t first, std::span<const float> logits)>;
void extend_all(Engine& engine, Sequence& sequence, std::span<const int32_t> ids, const LogitsSink& sink,
                const ExtendOptions& options = {});

// Throws the Error of Engine::not_finite() if logits of the last pass are not finite. logits: [n, vocabulary].
// first: the position of their first token.
void require_finite(Engine& engine, std::span<const float> logits, int64_t first);

}  // namespace tandem
