// The rules of a plan with near-memory units, for a loaded model on open devices.
//
// Contract: a pure function. nullptr: the plan has no units, the model no experts, or no near-memory unit is open.
#pragma once

#include <memory>
#include <span>

#include "engine/device/device_info.h"
#include "engine/model/config.h"
#include "engine/model/weights.h"
#include "engine/moe/near_memory_sides.h"
#include "engine/plan/strategy.h"

namespace tandem {

// Bytes and numbers of a model's experts. Weights of other operators are on the GPU.
NearMemoryModel near_memory_model(const ModelConfig& config, const ModelWeights& weights);

// All units count as the first one. config, weights: of the model.
std::unique_ptr<NearMemorySides> sides_of(std::span<const DeviceInfo* const> devices, const ModelConfig& config,
                                          const ModelWeights& weights, const Strategy& strategy,
                                          const UnitOptions& options);

}  // namespace tandem
