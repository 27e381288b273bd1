#include "engine/plan/prediction/layer_sample.h"

#include <algorithm>

#include "sync/error.h"

namespace tandem {

int64_t layers_of(std::span<const Operator> operators) {
  int64_t layers = 0;
  for (const Operator& op : operators) layers = std::max(layers, op.layer + 1);
  return layers;
}

// The middle of each of `count` equal runs of layers.
std::vector<int64_t> spread_layers(int64_t count, int64_t all) {
  TANDEM_CHECK(count > 0 && count <= all, "a sample is not larger than what it is of");
  std::vector<int64_t> layers;
  for (int64_t i = 0; i < count; ++i) layers.push_back((2 * i + 1) * all / (2 * count));
  return layers;
}

std::vector<Operator> only_layers(std::span<const Operator> operators, std::span<const int64_t> layers) {
  std::vector<Operator> some;
  for (const Operator& op : operators) {
    if (op.layer < 0 || std::ranges::binary_search(layers, op.layer)) some.push_back(op);
  }
  return some;
}

// Draws a line through both samples: their difference is the time of the layers between them. A falling line is noise,
// and each further layer then counts as 0.
double seconds_of_all(const LayersTook& few, const LayersTook& more, int64_t all) {
  TANDEM_CHECK(few.layers < more.layers && more.layers <= all, "two samples of different size say what a layer takes");
  const double each = (more.seconds - few.seconds) / static_cast<double>(more.layers - few.layers);
  return more.seconds + std::max(0.0, each) * static_cast<double>(all - more.layers);
}

}  // namespace tandem
