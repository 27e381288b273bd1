// Llama 1 to 3, Mistral, SmolLM2 and others that publish under this name. Mixtral, too: the weights of its experts are
// a softmax over the scores of the chosen ones. The converter reorders the rows of q and k, so the rotation pairs
// neighbouring values. Llama 3.1 and later store their long-context scaling as a tensor of frequency factors.
#include "engine/model/architectures/dense.h"
#include "engine/model/config_keys.h"
#include "engine/model/rope_keys.h"

namespace tandem {
namespace {

constexpr const char* kKeys[] = {"expert_count"};

void describe(ModelConfig& config) {
  config.rope.halves = false;
  if (config.experts) config.experts->normalised = true;
}

void read(const GgufFile& file, ModelConfig& config) {
  read_rope_factors(file, config);
  read_biases(file, config);
}

}  // namespace

extern const Architecture llama_architecture;
const Architecture llama_architecture = {
    .name = "llama", .keys = kKeys, .describe = describe, .layer = dense_layer, .read = read};

}  // namespace tandem
