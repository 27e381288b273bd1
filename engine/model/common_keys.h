// Reads the keys of a file's configuration that all architectures have.
#pragma once

#include <span>

#include "engine/model/config.h"
#include "engine/model/gguf.h"

namespace tandem {

// Reads them, and the keys of `known` that the file has. Error: a key is missing, out of range or contradicts another
// key, or it asks for an unknown computation.
ModelConfig read_common_keys(const GgufFile& file, std::span<const char* const> known);

}  // namespace tandem
