// What Tandem knows about model architectures: how each reads its keys, and which tensors it is made of.
//
// Contract: an Architecture is one file (architectures/NAME.cpp) and its name in one list (architecture.cpp); its
// functions are pure. The loader packs what ModelSpec names, in that order, and refuses a file with a tensor that it
// does not name, because the model would compute something else.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/model/config.h"
#include "engine/model/gguf.h"
#include "engine/model/layer.h"

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

using LayerSpec = LayerParts<VectorSpec, GroupSpec>;

struct ModelSpec {
  MatrixSpec embedding;
  std::vector<LayerSpec> layers;
  VectorSpec output_norm;
  GroupSpec output;  // no weights when tied
};

struct Architecture {
  const char* name;
  // Keys of the file beyond those that all architectures have, which this one computes with. Others that mean a
  // computation are refused.
  std::span<const char* const> keys;
  // What follows from the architecture, once the numbers are known, whether they come from a file or from a shape.
  void (*describe)(ModelConfig& config);
  LayerSpec (*layer)(const ModelConfig& config, int64_t index);
  // What only a file's tensors say; may be nullptr.
  void (*read)(const GgufFile& file, ModelConfig& config);
};

std::span<const Architecture* const> architectures();
const Architecture& architecture_named(const std::string& name, const std::string& where);  // Error: not supported
// The architecture that the file names; Error listing the supported ones.
const Architecture& find_architecture(const GgufFile& file);
ModelSpec model_spec(const Architecture& architecture, const ModelConfig& config);

}  // namespace tandem
