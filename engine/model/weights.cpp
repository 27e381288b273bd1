#include "engine/model/weights.h"

namespace tandem {

size_t MatrixGroup::bytes() const {
  size_t total = bias ? static_cast<size_t>(rows) * sizeof(float) : 0;
  for (const MatrixPart& part : parts) total += part.matrix.bytes();
  return total;
}

size_t MatrixStack::bytes() const {
  size_t total = 0;
  for (const StackPart& part : parts) total += part.stack.bytes();
  return total;
}

// Routers and the stacks of latent attention are recognised by their address in the layer.
std::vector<PackedFormat> matrix_formats(const ModelWeights& weights) {
  std::vector<PackedFormat> formats;
  const auto add = [&formats](const MatrixGroup& group) {
    for (const MatrixPart& part : group.parts) formats.push_back(part.matrix.format);
  };
  for (const LayerWeights& layer : weights.layers) {
    const Overloaded each{[&](const MatrixGroup& group) {
                            if (&group != &layer.router) add(group);
                          },
                          [&](const MatrixStack& stack) {
                            if (&stack == &layer.key_up || &stack == &layer.value_up) return;
                            for (const StackPart& part : stack.parts) formats.push_back(part.stack.format);
                          },
                          [](const Operand&) {}};
    each_part(each, layer);
  }
  add(weights.output);
  return formats;
}

}  // namespace tandem
