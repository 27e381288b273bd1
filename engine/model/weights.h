// A model's weights, packed into the shared pool.
//
// Matmuls that read the same input write into one output buffer. A MatrixGroup is the list of their packed matrices. It
// has one matrix where all parts have the same packed format (q, k and v of most files), else one per change of format.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "engine/model/config.h"
#include "engine/model/expert_records.h"
#include "engine/model/gguf.h"
#include "engine/model/layer.h"
#include "engine/tensor/expert_source.h"
#include "engine/tensor/packed.h"
#include "sync/pool.h"

namespace tandem {

struct MatrixPart {
  PackedMatrix matrix;       // [rows, K]
  int64_t column_begin = 0;  // first column of the output buffer that its rows write
};

// A factor on some columns of a product. Files of NVFP4 have one for each matrix.
struct ColumnFactor {
  int64_t column_begin = 0, columns = 0;
  float factor = 1;
  bool operator==(const ColumnFactor&) const = default;
};

struct MatrixGroup {
  std::vector<MatrixPart> parts;
  int64_t rows = 0, columns = 0;           // N in total, K
  Operand bias;                            // f32 [rows]; absent: none
  std::vector<ColumnFactor> factors = {};  // of results, before a bias is added; in the order of columns
  size_t bytes() const;
};

// Like a MatrixGroup, with matrices for each expert or head: part p of all of them lies in one PackedStack.
struct StackPart {
  PackedStack stack;
  int64_t column_begin = 0;  // first column of an output slot that its rows write
};

// A factor of each expert on some columns of its product. Files of NVFP4 have them.
struct ExpertFactors {
  int64_t column_begin = 0, columns = 0;
  Operand factors;  // f32 [experts], by the numbers of experts also where experts move
};

struct MatrixStack {
  std::vector<StackPart> parts;
  int64_t count = 0;                        // number of experts or heads
  int64_t rows = 0, columns = 0;            // N in total, K, of each
  std::vector<ExpertFactors> factors = {};  // of results, before a bias is added; in the order of columns
  size_t bytes() const;
};

using LayerWeights = LayerParts<Operand, MatrixGroup, MatrixStack>;  // vectors are f32

struct ModelWeights {
  PackedMatrix embedding;                       // [vocabulary, H]
  PackedMatrix position_embedding;              // [position_rows, H], or absent
  Operand token_types;                          // f32 [token_types, H], or absent
  Operand embedding_norm, embedding_norm_bias;  // f32 [H], or absent
  std::vector<LayerWeights> layers;
  // One for each layer if experts move, else empty. A layer's stacks of experts have its slots then.
  std::vector<MovingExperts> moving;
  Operand output_norm;                 // f32 [H]
  Operand output_norm_bias;            // f32 [H], or absent
  MatrixGroup output;                  // [vocabulary, H]; the embedding's bytes again when tied
  size_t bytes = 0;                    // packed, in the slots below
  std::vector<sync::Slot*> slots;      // embedding, layers, output; the pool owns them until they are released
  std::vector<ExpertRecords> records;  // of each layer with experts
};

struct Model {
  ModelConfig config;
  ModelWeights weights;
};

// Formats of every matrix that may run on a device that rounds weights, in the order of the layers; formats repeat.
// Routers are left out (MatMul::decides). So are the stacks of latent attention: such a device multiplies no stacks,
// and only experts are taken out of theirs.
std::vector<PackedFormat> matrix_formats(const ModelWeights& weights);
// The same from the header of a file alone. Error: an unknown architecture, a missing tensor.
std::vector<PackedFormat> matrix_formats(const GgufFile& file, const ModelConfig& config);

ModelConfig read_config(const GgufFile& file);  // without loading weights

}  // namespace tandem
