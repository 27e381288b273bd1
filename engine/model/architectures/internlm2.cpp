// InternLM2: a Llama whose files keep q, k and v apart, with the same reordered rows of q and k.
#include "engine/model/architectures/dense.h"

namespace tandem {

ModelConfig read_internlm2(const GgufFile& file) {
  ModelConfig config = read_dense(file);
  config.rope_halves = false;
  read_attention_biases(file, config);
  return config;
}

}  // namespace tandem
