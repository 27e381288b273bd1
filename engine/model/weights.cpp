#include "engine/model/weights.h"

#include "engine/model/architecture.h"
#include "engine/tensor/packed.h"

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

// A stack of an older layout has one tensor for each expert, and the first one stands for all.
std::vector<PackedFormat> matrix_formats(const GgufFile& file, const ModelConfig& config) {
  std::vector<PackedFormat> formats;
  const auto add = [&](const std::string& name) { formats.push_back(packed_format(file.require(name).type)); };
  const ModelSpec spec = model_spec(architecture_named(config.architecture, config.name), config, file);
  for (const LayerSpec& layer : spec.layers) {
    const Overloaded each{[&](const GroupSpec& group) {
                            if (&group == &layer.router) return;
                            for (const MatrixSpec& weight : group.weights) add(weight.name);
                          },
                          [&](const StackSpec& stack) {
                            if (&stack == &layer.key_up || &stack == &layer.value_up) return;
                            for (const StackedSpec& weight : stack.weights) {
                              const bool older = file.find(weight.name) == nullptr && !weight.prefix.empty();
                              add(older ? weight.prefix + "0.weight" : weight.name);
                            }
                          },
                          [](const VectorSpec&) {}};
    each_part(each, layer);
  }
  if (spec.output.weights.empty()) add(spec.embedding.name);
  for (const MatrixSpec& weight : spec.output.weights) add(weight.name);
  return formats;
}

}  // namespace tandem
