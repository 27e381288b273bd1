// The keys of a file's configuration that all architectures have.
#pragma once

#include <span>

#include "engine/model/config.h"
#include "engine/model/gguf.h"

namespace tandem {

// And of `known` those that the file has. Error: a key is missing, out of range or contradicts another, or asks for a
// computation that is not known.
ModelConfig read_common_keys(const GgufFile& file, std::span<const char* const> known);

}  // namespace tandem
