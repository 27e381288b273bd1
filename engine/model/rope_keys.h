// How files describe the rotation: base, width, scaling and frequency factors.
#pragma once

#include "engine/model/config.h"
#include "engine/model/config_keys.h"
#include "engine/model/gguf.h"

namespace tandem {

// The rotation's keys; heads and context length are already in `config`.
void read_rope(const ConfigKeys& keys, ModelConfig& config);
// The frequency factors of that tensor, if the file has it.
inline constexpr const char* kRopeFactors = "rope_freqs.weight";
void read_rope_factors(const GgufFile& file, ModelConfig& config);
// Those of short and of long contexts (LongRoPE, Ding et al. 2024), if the file has them.
inline constexpr const char* kShortRopeFactors = "rope_factors_short.weight";
inline constexpr const char* kLongRopeFactors = "rope_factors_long.weight";
void read_long_rope_factors(const GgufFile& file, ModelConfig& config);

}  // namespace tandem
