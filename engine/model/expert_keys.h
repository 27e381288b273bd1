// Reads how a file describes a mixture of experts: their number, their width and how tokens are sent to them.
#pragma once

#include <span>

#include "engine/model/config.h"
#include "engine/model/config_keys.h"

namespace tandem {

// Upper bounds far above any published model.
inline constexpr int64_t kMostExperts = 4096, kMostExpertsUsed = 64, kMostExpertGroups = 32;
inline constexpr const char* kExpertStep = "interleave_moe_layer_step";

// Reads the experts' keys. `config` has layers and widths already. Does nothing if the file has no experts.
void read_experts(const ConfigKeys& keys, ModelConfig& config);
// Reads groups of experts, and which layers have experts, for architectures that declare these keys. Error: groups in
// another architecture.
void read_expert_places(const ConfigKeys& keys, std::span<const char* const> known, ModelConfig& config);
// Takes from the file whether the experts' weights add up to 1, if it says so.
void take_expert_norm(const ConfigKeys& keys, ModelConfig& config);
// Checks the keys about the experts' weights after the architecture has described `config`. Error: the file asks for
// weights that the architecture does not compute.
void check_expert_weights(const ConfigKeys& keys, const ModelConfig& config);

}  // namespace tandem
