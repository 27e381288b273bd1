// Forward passes of published models in double precision. Each architecture has one short function, written from
// the model's description and not from the engine. It checks an architecture on a made-up model, without files
// from elsewhere.
//
// Contract: the file's tensors have type F32 or NVFP4, and its sizes are small, because the passes are slow. Error: an
// unknown architecture.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/model/gguf.h"

namespace tandem::testing {

// Returns [tokens, vocabulary]: the logits behind every token of the text.
std::vector<float> reference_logits(const GgufFile& file, std::span<const int32_t> ids);

}  // namespace tandem::testing
