// Picks a few layers of a model, on which plans are compared. Layers are alike, so the times of few and of more layers
// give the time of all. A plan of all thirty layers would take many times longer to make and to predict.
//
// Contract: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/device/operator.h"

namespace tandem {

// The number of layers that the operators belong to: the last layer's number plus one.
int64_t layers_of(std::span<const Operator> operators);

// Numbers of `count` layers that are spread evenly among `all` layers. If storage types change from layer to layer,
// each type then has its part. count <= all.
std::vector<int64_t> spread_layers(int64_t count, int64_t all);

// The operators that belong to one of these layers or to none. layers: rising.
std::vector<Operator> only_layers(std::span<const Operator> operators, std::span<const int64_t> layers);

struct LayersTook {
  int64_t layers = 0;
  double seconds = 0;  // includes the operators that belong to no layer
};

// The time of `all` layers, on the line through `few` and `more`. At least the time of `more`.
double seconds_of_all(const LayersTook& few, const LayersTook& more, int64_t all);

}  // namespace tandem
