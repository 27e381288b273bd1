// AFM (Arcee AI 2025): a Llama whose feed-forward network is a squared ReLU without a gate.
#include "engine/model/architectures/dense.h"
#include "engine/model/rope_keys.h"

namespace tandem {
namespace {

void describe(ModelConfig& config) {
  config.rope.halves = false;
  config.gated = false;
  config.activation = Activation::squared_relu;
}

void read(const GgufFile& file, ModelConfig& config) {
  read_biases(file, config);
  read_rope_factors(file, config);
}

}  // namespace

extern const Architecture arcee_architecture;
const Architecture arcee_architecture = {
    .name = "arcee", .keys = {}, .describe = describe, .layer = dense_layer, .read = read};

}  // namespace tandem
