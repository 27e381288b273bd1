// Qwen3: an RMSNorm on every head of q and k before the rotation, heads whose width is not hidden / heads, no biases.
#include "engine/model/architectures/dense.h"

namespace tandem {

ModelConfig read_qwen3(const GgufFile& file) {
  ModelConfig config = read_dense(file);
  config.rope_halves = true;
  config.qk_norm = true;
  return config;
}

}  // namespace tandem
