// What the feed-forward networks of a model read while it reads a text: the rows behind each layer's ffn_norm.
//
// Contract: layer by layer, all windows through one before the next, so that memory is held for three rows of H a token
// (the residual stream, what is still to be added to it, the inputs) and not for those of all layers. Windows know
// nothing of each other. Everything is f32. The device's memory is the pool's (the host): rows are read and put back
// between its programs. One thread, the device's orchestrator.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/device/device.h"
#include "engine/model/weights.h"
#include "sync/pool.h"

namespace tandem {

struct FfnInputsSinks {
  // Inputs of a layer, f32 [tokens of all windows, H], borrowed until it returns.
  std::function<void(int64_t layer, std::span<const float> inputs)> take;
  // Tokens times layers; may be empty. What either throws ends the reading.
  std::function<void(uint64_t done, uint64_t total)> progress = {};
};

// windows: token ids, each from position 0 on; none is empty. The model is the pool's.
void read_ffn_inputs(const Model& model, Device& device, sync::Pool& pool,
                     std::span<const std::vector<int32_t>> windows, const FfnInputsSinks& sinks);

}  // namespace tandem
