// Runs every kernel that a model needs on the engine's GPU, so that drivers compile the kernels and keep the results.
// The passes have one to eight tokens, for which there are separate variants of kernels, and many. Each runs without
// and with recording.
//
// Contract: the engine has no texts yet. Threads: the engine's.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/run/engine.h"

namespace tandem {

// The options of an engine that compiles kernels. It has as few layers as need all kernels. It has the same devices as
// texts have, so that the kernels of the self-test between devices are compiled too.
EngineOptions options_to_warm(const std::string& model, const std::string& gpu, KvType kv_type, ActType act);

// Called after every pass. If it returns false, no further pass runs.
using WarmProgress = std::function<bool(int64_t done, int64_t total)>;
void warm_kernels(Engine& engine, const WarmProgress& progress);

// The same for many texts at once and for trees of drafts. Their passes of a few tokens are lists. The engine must be
// opened with options_to_warm_many().
EngineOptions options_to_warm_many(const std::string& model, const std::string& gpu, KvType kv_type, ActType act);
void warm_kernels_of_many(Engine& engine, const WarmProgress& progress);

}  // namespace tandem
