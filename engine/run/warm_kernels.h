// Runs every kernel that a model needs on the engine's GPU, so that drivers compile them and keep what they have
// compiled: passes of one token to eight, for which kernels have variants of their own, and of many; recorded ones too.
//
// Contract: the engine's context is forgotten. Threads: the engine's.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/run/engine.h"

namespace tandem {

// How an engine is opened whose kernels are to be compiled: with as few layers as need all of them, and with the
// devices that texts have, so that the kernels by which hand-overs are tested are among them.
EngineOptions options_to_warm(const std::string& model, const std::string& gpu, KvType kv_type, ActType act);

// progress: after every pass. Stops where it returns false.
using WarmProgress = std::function<bool(int64_t done, int64_t total)>;
void warm_kernels(Engine& engine, const WarmProgress& progress);

// The same for many texts at once and for trees of drafts, whose passes of a few tokens are lists, in an engine that is
// opened so.
EngineOptions options_to_warm_many(const std::string& model, const std::string& gpu, KvType kv_type, ActType act);
void warm_kernels_of_many(Engine& engine, const WarmProgress& progress);

}  // namespace tandem
