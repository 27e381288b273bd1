// What Tandem knows about model architectures: how each reads its keys, and which tensors it is made of.
//
// Contract: an Architecture is a row of one table (architecture.cpp) and two pure functions (architectures/NAME.cpp).
// ModelTensors mirrors ModelWeights: the loader packs what it names, in that order, and refuses a file with a tensor
// that it does not name, because the model would compute something else.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/model/config.h"
#include "engine/model/gguf.h"

namespace tandem {

struct MatrixSpec {
  std::string name;
  int64_t rows = 0, columns = 0;  // N, K
};

struct VectorSpec {
  std::string name;  // empty: the architecture has none here
  int64_t length = 0;
};

struct GroupSpec {
  std::vector<MatrixSpec> weights;  // one below the other
  std::vector<VectorSpec> biases;   // none, or one for each weight
};

struct LayerSpec {
  VectorSpec attention_norm;
  GroupSpec qkv;
  VectorSpec q_norm, k_norm;
  GroupSpec attention_output;
  VectorSpec ffn_norm;
  GroupSpec gate_up, down;
};

struct ModelSpec {
  MatrixSpec embedding;
  std::vector<LayerSpec> layers;
  VectorSpec output_norm;
  GroupSpec output;  // no weights when tied
};

struct Architecture {
  const char* name;
  ModelConfig (*read_config)(const GgufFile& file);
  LayerSpec (*layer)(const ModelConfig& config, int64_t index);
};

std::span<const Architecture> architectures();
// The architecture that the file names; Error listing the supported ones.
const Architecture& find_architecture(const GgufFile& file);
ModelSpec model_spec(const Architecture& architecture, const ModelConfig& config);

}  // namespace tandem
