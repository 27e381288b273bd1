// Runs every kernel that a model needs on the engine's GPU, so that drivers compile them and keep what they have
// compiled: passes of one token to eight, for which kernels have variants of their own, and of many; recorded ones too.
//
// Contract: the engine's context is forgotten. Threads: the engine's.
#pragma once

#include <cstdint>
#include <functional>

#include "engine/run/engine.h"

namespace tandem {

// progress: after every pass. Stops where it returns false.
void warm_kernels(Engine& engine, const std::function<bool(int64_t done, int64_t total)>& progress);

}  // namespace tandem
