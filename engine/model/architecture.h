// Describes model architectures: how each reads its keys, and which tensors a model of it has.
//
// Contract: an Architecture is one file (architectures/NAME.cpp) and its name in one list (architecture.cpp). Its
// functions are pure. The loader packs the tensors that ModelSpec names, in that order. It refuses a file with any
// other tensor, because the model would compute something else.
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
  int64_t count = 1;  // vectors of that length in one tensor, one behind the other
};

struct GroupSpec {
  std::vector<MatrixSpec> weights;  // one below the other
  std::vector<VectorSpec> biases;   // none, or one for each weight
};

// Matrices for experts or heads that share one tensor: below each other, or along a third dimension.
struct StackedSpec {
  std::string name;
  int64_t rows = 0, columns = 0;  // N and K of each matrix, as it is multiplied
  // Files of an older layout have one tensor for each: PREFIX0.weight and so on. Empty: there is no such layout.
  std::string prefix = {};
  int64_t pitch = 0;       // rows of each expert or head in the file; 0: those of the matrix and no others
  int64_t rows_begin = 0;  // the matrix's first row among them
  // The file stores the matrices as [K, N]. They are packed as F16 or BF16 if the file has that type, else as F32.
  bool transposed = false;

  int64_t file_columns() const { return transposed ? rows : columns; }
  int64_t file_rows() const { return transposed ? columns : rows; }
  int64_t file_pitch() const { return pitch > 0 ? pitch : file_rows(); }
};

struct StackSpec {
  int64_t count = 0;                 // number of experts or heads
  std::vector<StackedSpec> weights;  // one below the other
  bool of_experts = false;           // the matrices of an expert lie together in a record (expert_records.h)
};

using LayerSpec = LayerParts<VectorSpec, GroupSpec, StackSpec>;

struct ModelSpec {
  MatrixSpec embedding;
  MatrixSpec position_embedding;  // no name: none
  VectorSpec token_types, embedding_norm, embedding_norm_bias;
  std::vector<LayerSpec> layers;
  VectorSpec output_norm, output_norm_bias;
  GroupSpec output;  // no weights when tied
};

struct Architecture {
  const char* name;
  // Keys that this architecture computes with, beyond those that all architectures have. Other keys that mean a
  // computation are refused. "expert_count" stands for all keys of experts, "attention.kv_lora_rank" for those of
  // latent attention.
  std::span<const char* const> keys;
  // Sets what follows from the architecture. Called when the numbers are known, from a file or from a shape.
  void (*describe)(ModelConfig& config);
  LayerSpec (*layer)(const ModelConfig& config, int64_t index);
  // Reads what only the file's tensors say; may be nullptr.
  void (*read)(const GgufFile& file, ModelConfig& config);
  // True if every model of it is a mixture of experts, or has latent attention.
  bool has_experts = false, has_latent = false;
  bool multiplies_logits = false;     // the key logit_scale is the factor on the logits; false: their divisor
  bool may_have_choice_bias = false;  // of its experts (ExpertsConfig::choice_bias); the file's tensors say it
  // A file may say that the weights of its experts do not add up to 1, although they do if it says nothing.
  bool takes_expert_norm = false;

  bool knows(std::string_view key) const;
};

std::span<const Architecture* const> architectures();
const Architecture& architecture_named(const std::string& name, const std::string& where);  // Error: not supported
// The architecture that the file names. Error if it is not supported; the text lists the supported ones.
const Architecture& find_architecture(const GgufFile& file);
ModelSpec model_spec(const Architecture& architecture, const ModelConfig& config);
// The same for a file, which may have gate and up of an encoder or of experts in one tensor.
ModelSpec model_spec(const Architecture& architecture, const ModelConfig& config, const GgufFile& file);

}  // namespace tandem
