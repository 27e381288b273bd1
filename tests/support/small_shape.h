// Published shapes made so small that a test takes milliseconds, and the bytes of models with random weights.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "engine/model/architecture.h"
#include "engine/model/random_model.h"
#include "engine/model/shapes.h"

namespace tandem::test {

// The shape with few layers and words.
inline ModelConfig small_shape(const std::string& name) {
  ModelConfig config = model_shape(name);
  config.layers = 2;
  config.hidden = 256;
  config.feed_forward = 512;
  config.vocabulary = 400;
  architecture_named(config.architecture, name).describe(config);  // what follows from the number of layers and widths
  if (config.experts) {
    config.experts->feed_forward = 64;
    config.experts->dense_layers = std::min<int64_t>(config.experts->dense_layers, 1);
    config.experts->shared_feed_forward = config.experts->shared_feed_forward > 0 ? 96 : 0;
  }
  return config;
}

inline std::vector<std::byte> bytes_of(const RandomModel& model) {
  std::vector<std::byte> bytes;
  model.write([&](std::span<const std::byte> more) { bytes.insert(bytes.end(), more.begin(), more.end()); });
  return bytes;
}

}  // namespace tandem::test
