// Makes the tokenizer of a GGUF file, from the vocabulary in it.
//
// Contract: Error if the model or the pre-tokenizer is unknown; it lists the supported ones.
#pragma once

#include <memory>

#include "engine/model/gguf.h"
#include "tandem/tokenizer.h"

namespace tandem {

std::unique_ptr<Tokenizer> make_tokenizer(const GgufFile& file);

}  // namespace tandem
