// Plans are compared on a few of a model's layers: layers are alike, so the time of a few and of a few more says what
// all take, and a plan of thirty layers takes as many times longer to make and to predict.
//
// Contract: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/device/operator.h"

namespace tandem {

// How many layers the operators belong to: one more than the last one's number.
int64_t layers_of(std::span<const Operator> operators);

// Numbers of `few` layers that lie evenly among `all`: where types of weights change from layer to layer, each has its
// part. few <= all.
std::vector<int64_t> spread_layers(int64_t few, int64_t all);

// Those of the operators that belong to these layers (in rising order), or to none.
std::vector<Operator> only_layers(std::span<const Operator> operators, std::span<const int64_t> layers);

struct LayersTook {
  int64_t layers = 0;
  double seconds = 0;  // with what belongs to no layer
};

// What `all` layers take, where each more takes as much as between `few` and `more`; at least what `more` take.
double seconds_of_all(const LayersTook& few, const LayersTook& more, int64_t all);

}  // namespace tandem
