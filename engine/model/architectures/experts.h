// The feed-forward part of a layer that is a mixture of experts, as all architectures' files name it.
#pragma once

#include <string>

#include "engine/model/architecture.h"

namespace tandem {

// prefix: "blk.3."; config.experts is there.
void add_experts(const ModelConfig& config, const std::string& prefix, LayerSpec& layer);

}  // namespace tandem
