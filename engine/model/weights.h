// A model's weights, packed into the shared pool.
//
// Matmuls that read the same input write one output buffer; a MatrixGroup is the list of packed matrices that does it,
// one where all its parts have the same packed format (q, k and v of most files), else one per format change.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "engine/model/config.h"
#include "engine/model/gguf.h"
#include "engine/model/layer.h"
#include "engine/tensor/packed.h"
#include "sync/pool.h"

namespace tandem {

struct MatrixPart {
  PackedMatrix matrix;       // [rows, K]
  int64_t column_begin = 0;  // where its rows go in the output buffer
};

struct MatrixGroup {
  std::vector<MatrixPart> parts;
  int64_t rows = 0, columns = 0;  // N in total, K
  Operand bias;                   // f32 [rows]; absent: none
  size_t bytes() const;
};

// As a group, of matrices for each expert or head: part p of all of them lies in one PackedStack.
struct StackPart {
  PackedStack stack;
  int64_t column_begin = 0;  // where its rows go in a slot of the output
};

struct MatrixStack {
  std::vector<StackPart> parts;
  int64_t count = 0;              // of experts, of heads
  int64_t rows = 0, columns = 0;  // N in total, K, of each
  size_t bytes() const;
};

using LayerWeights = LayerParts<Operand, MatrixGroup, MatrixStack>;  // vectors are f32

struct ModelWeights {
  PackedMatrix embedding;  // [vocabulary, H]
  std::vector<LayerWeights> layers;
  Operand output_norm;             // f32 [H]
  Operand output_norm_bias;        // f32 [H], or absent
  MatrixGroup output;              // [vocabulary, H]; the embedding's bytes again when tied
  size_t bytes = 0;                // packed, in the pool
  std::vector<sync::Slot*> slots;  // that hold all of it: embedding, layers, output; the pool's until released
};

struct Model {
  ModelConfig config;
  ModelWeights weights;
};

// Of every matrix that a device which rounds weights may be given, in the order of the layers; formats repeat. Routers
// are none of them (MatMul::decides), nor the stacks of latent attention: such a device multiplies no stacks, and only
// experts are taken out of theirs.
std::vector<PackedFormat> matrix_formats(const ModelWeights& weights);

// done and total in bytes of the file; called from the loading thread.
using LoadProgress = std::function<void(uint64_t done, uint64_t total)>;

ModelConfig read_config(const GgufFile& file);  // the shapes alone

}  // namespace tandem
