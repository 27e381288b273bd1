// How files describe a mixture of experts: how many there are, how wide they are and how tokens are sent to them.
#pragma once

#include "engine/model/config.h"
#include "engine/model/config_keys.h"

namespace tandem {

// Upper bounds far above any published model.
inline constexpr int64_t kMostExperts = 4096, kMostExpertsUsed = 64;

// The experts' keys; `config` has layers and widths already. Nothing, where the file says of no experts.
void read_experts(const ConfigKeys& keys, ModelConfig& config);
// Error: the file says of its experts' weights what the architecture, which has described `config` by now, does not do.
void check_expert_weights(const ConfigKeys& keys, const ModelConfig& config);

}  // namespace tandem
