// Qwen2 and Qwen2.5: biases on q, k and v; the rotation turns value i with value i + rope_dim / 2.
#include "engine/model/architectures/dense.h"

namespace tandem {

ModelConfig read_qwen2(const GgufFile& file) {
  ModelConfig config = read_dense(file);
  config.rope_halves = true;
  read_attention_biases(file, config);
  return config;
}

}  // namespace tandem
