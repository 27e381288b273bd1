// What Tandem knows about model architectures: how each reads its keys, and which tensors it is made of.
//
// Contract: an Architecture is one file (architectures/NAME.cpp) and its name in one list (architecture.cpp); its
// functions are pure. The loader packs what ModelSpec names, in that order, and refuses a file with a tensor that it
// does not name, because the model would compute something else.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
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

// Matrices of which a tensor has one for each expert or head, below each other or along a third dimension.
struct StackedSpec {
  std::string name;
  int64_t rows = 0, columns = 0;  // N and K of each, as they are multiplied with
  // Files of an older layout have a tensor for each, PREFIX0.weight and so on; empty: none do.
  std::string prefix = {};
  int64_t pitch = 0;       // rows that each has in the file; 0: those of the matrix and no others
  int64_t rows_begin = 0;  // the first of the matrix among them
  // They lie in the file as [K, N]; they are packed as F32, or F16 and BF16 where they are that.
  bool transposed = false;

  int64_t file_columns() const { return transposed ? rows : columns; }
  int64_t file_rows() const { return transposed ? columns : rows; }
  int64_t file_pitch() const { return pitch > 0 ? pitch : file_rows(); }
};

struct StackSpec {
  int64_t count = 0;                 // of experts, of heads
  std::vector<StackedSpec> weights;  // one below the other
};

using LayerSpec = LayerParts<VectorSpec, GroupSpec, StackSpec>;

struct ModelSpec {
  MatrixSpec embedding;
  std::vector<LayerSpec> layers;
  VectorSpec output_norm, output_norm_bias;
  GroupSpec output;  // no weights when tied
};

struct Architecture {
  const char* name;
  // Keys of the file beyond those that all architectures have, which this one computes with. Others that mean a
  // computation are refused. "expert_count" stands for all keys of experts, "attention.kv_lora_rank" for those of
  // latent attention.
  std::span<const char* const> keys;
  // What follows from the architecture, once the numbers are known, whether they come from a file or from a shape.
  void (*describe)(ModelConfig& config);
  LayerSpec (*layer)(const ModelConfig& config, int64_t index);
  // What only a file's tensors say; may be nullptr.
  void (*read)(const GgufFile& file, ModelConfig& config);
  // Every model of it is a mixture of experts, has latent attention.
  bool has_experts = false, has_latent = false;

  bool knows(std::string_view key) const;
};

std::span<const Architecture* const> architectures();
const Architecture& architecture_named(const std::string& name, const std::string& where);  // Error: not supported
// The architecture that the file names; Error listing the supported ones.
const Architecture& find_architecture(const GgufFile& file);
ModelSpec model_spec(const Architecture& architecture, const ModelConfig& config);

}  // namespace tandem
