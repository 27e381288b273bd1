// Options of engines for vectors, where texts are not known beforehand: the server, and the libraries for C and Python.
//
// Contract: pure; threads: any.
#pragma once

#include <cstdint>

#include "engine/model/config.h"
#include "tandem/engine.h"

namespace tandem {

// Tokens of an encoder's context, which is one pass. asked: the user's number; 0: the trained length, at most 2,048.
int64_t context_of_encoder(int64_t asked, const ModelConfig& config);

// The second engine makes vectors, and `engine` writes texts. Both have one length of context.
TextOptions embedder_options(const Engine& engine);

}  // namespace tandem
