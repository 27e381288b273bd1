// Llama 1 to 3, Mistral, SmolLM2 and others that publish under this name. The converter reorders the rows of q and k,
// so the rotation turns neighbouring values. Llama 3.1 and later bring their long-context scaling as a tensor of
// frequency factors.
#include "engine/model/architectures/dense.h"
#include "engine/model/config_keys.h"

namespace tandem {

ModelConfig read_llama(const GgufFile& file) {
  ModelConfig config = read_dense(file);
  config.rope_halves = false;
  read_rope_factors(file, config);
  read_attention_biases(file, config);
  return config;
}

}  // namespace tandem
