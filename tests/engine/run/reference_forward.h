// What published models compute, in double precision: one short function an architecture, written from the models'
// descriptions and not from the engine. With it an architecture is checked on a made-up model, without files from
// elsewhere.
//
// Contract: the file's tensors are of type F32, its numbers small; nothing is fast. Error: an unknown architecture.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/model/gguf.h"

namespace tandem::testing {

// [tokens, vocabulary]: the logits behind every token of the text.
std::vector<float> reference_logits(const GgufFile& file, std::span<const int32_t> ids);

}  // namespace tandem::testing
