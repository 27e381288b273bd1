// Reads a text with a model and returns the inputs of its feed-forward networks: the rows behind each layer's ffn_norm.
//
// Contract: all windows go through one layer before any goes through the next. So memory holds three rows of H values
// for each token, and not those of all layers. The rows are the residual stream, the part that is still to be added to
// it, and the inputs. Windows do not see each other. Everything is f32. The device works in the pool's memory (the
// host), because rows are read and restored between its programs. One thread, the device's orchestrator.
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
  // Receives the inputs of a layer, f32 [tokens of all windows, H], borrowed for the call.
  std::function<void(int64_t layer, std::span<const float> inputs)> take;
  // Counts tokens times layers; may be empty. An exception of either function ends the reading.
  std::function<void(uint64_t done, uint64_t total)> progress = {};
};

// windows: token ids, each window beginning at position 0; none is empty. The model's weights are in the pool.
void read_ffn_inputs(const Model& model, Device& device, sync::Pool& pool,
                     std::span<const std::vector<int32_t>> windows, const FfnInputsSinks& sinks);

}  // namespace tandem
