// How files describe latent attention.
#pragma once

#include "engine/model/config.h"
#include "engine/model/config_keys.h"

namespace tandem {

// Its keys; `config` has heads and rotation already, of which they change what the cache keeps. Error: a layout with
// latents of the queries too.
void read_latent(const ConfigKeys& keys, ModelConfig& config);

// What follows for heads and rotation: the cache keeps one head of latents and rotated keys.
void set_latent(const LatentConfig& latent, ModelConfig& config);

}  // namespace tandem
