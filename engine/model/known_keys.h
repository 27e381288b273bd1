// Which metadata keys of its architecture a file may have: a key that is not known might change what is computed, so it
// is refused by its name.
//
// A key is good where it is read (by every architecture, or by those that declare it: Architecture::keys), where it
// carries no computation, or where its value says what is computed anyway ("causal": true). Keys before which another
// word than the architecture stands (general, tokenizer, split, quantize, ...) are none of the computation's.
#pragma once

#include <span>

#include "engine/model/config.h"
#include "engine/model/gguf.h"

namespace tandem {

// `config` is described by now; `declared` are the architecture's keys. Error: a key is not good, with what was found
// and expected.
void require_known_keys(const GgufFile& file, const ModelConfig& config, std::span<const char* const> declared);

}  // namespace tandem
