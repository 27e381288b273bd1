// Reads how a file describes latent attention.
#pragma once

#include "engine/model/config.h"
#include "engine/model/config_keys.h"

namespace tandem {

// Reads its keys. `config` has heads and rotation already; this changes them to what the cache keeps. Error: the layout
// has latents of the queries too.
void read_latent(const ConfigKeys& keys, ModelConfig& config);

// Sets heads and rotation to what follows from latents: the cache keeps one head of latents and rotated keys.
void set_latent(const LatentConfig& latent, ModelConfig& config);

}  // namespace tandem
