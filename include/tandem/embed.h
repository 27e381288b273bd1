// Vectors of texts (embeddings): the states of a text's tokens behind the last layer, pooled into one vector.
//
// Contract
//   Engine: it is opened with TextOptions::hidden_states. Encoders and decoder models both serve.
//   Shape: a vector has Engine::width() values, f32. With `normed` its length is 1.
//   Passes: texts share passes in their order, up to TextOptions::sequences of them and TextOptions::chunk tokens. A
//   text of an encoder is one piece, so it has at most as many tokens as a pass. A decoder's text may be longer. No
//   text leaves anything in the cache. Bits: a vector has the same bits whichever texts share its passes
//   (tandem/engine.h). Errors: an engine without states, a text without tokens, a text that is too long, a pooling that
//   gives no vector. Threads: any thread, one at a time, as with every call of the engine. Ownership: the caller owns
//   the vectors.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "tandem/engine.h"
#include "tandem/types.h"

namespace tandem {

struct EmbedOptions {
  std::optional<Pooling> pooling{};  // absent: the file's, or the last token's for a decoder whose file names none
  bool normed = true;
  std::function<bool()> interrupted{};  // asked between two passes; true: the call throws Interrupted
};

// One vector for each text. texts: token ids, with the tokens that the model wants around a text.
std::vector<std::vector<float>> embed(Engine& engine, std::span<const std::vector<int32_t>> texts,
                                      const EmbedOptions& options = {});

// The pooling of a model, which the caller may replace. Error if that is none or rank.
Pooling pooling_of(const LoadedModel& model, std::optional<Pooling> asked = {});

// The Error that embed() would throw for this text.
void require_embeddable(const Engine& engine, std::span<const int32_t> text);

}  // namespace tandem
