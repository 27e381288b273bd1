// Reads how a file describes the rotation: base, width, scaling and frequency factors.
#pragma once

#include "engine/model/config.h"
#include "engine/model/config_keys.h"
#include "engine/model/gguf.h"

namespace tandem {

// Reads the rotation's keys. `config` has heads and context length already.
void read_rope(const GgufFile& file, const ConfigKeys& keys, ModelConfig& config);
// Reads the frequency factors of this tensor, if the file has it.
inline constexpr const char* kRopeFactors = "rope_freqs.weight";
void read_rope_factors(const GgufFile& file, ModelConfig& config);
// Reads the factors of short and of long contexts (LongRoPE, Ding et al. 2024), if the file has both tensors.
inline constexpr const char* kShortRopeFactors = "rope_factors_short.weight";
inline constexpr const char* kLongRopeFactors = "rope_factors_long.weight";
void read_long_rope_factors(const GgufFile& file, ModelConfig& config);

}  // namespace tandem
