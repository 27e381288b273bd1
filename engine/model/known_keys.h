// Decides which metadata keys of its architecture a file may have. An unknown key might change the computation, so it
// is refused by its name.
//
// A key is accepted in three cases. It is read: by every architecture, or by those that declare it
// (Architecture::keys). It carries no computation. Or its value states what is computed anyway ("causal": true). Keys
// with another prefix than the architecture (general, tokenizer, split, quantize, ...) do not concern the computation.
#pragma once

#include <span>

#include "engine/model/config.h"
#include "engine/model/gguf.h"

namespace tandem {

// Called after the architecture has described `config`. `declared` are the architecture's keys. Error: a key is not
// accepted; the text says what was found and expected.
void require_known_keys(const GgufFile& file, const ModelConfig& config, std::span<const char* const> declared);

}  // namespace tandem
