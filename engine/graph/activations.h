// The buffers a decoder pass works in: one set, reused from layer to layer (H10), and the KV cache.
//
// Ownership: slots belong to the pool; Activations gives them back when it dies. Without a pool (shape-only models)
// every Operand is empty and only shapes are right.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/device/operator.h"
#include "engine/model/config.h"
#include "sync/pool.h"

namespace tandem {

struct ActivationSizes {
  int64_t tokens = 1;      // most tokens of one pass
  int64_t outputs = 1;     // most tokens of one pass that get logits
  int64_t positions = 64;  // capacity of the KV cache, a multiple of 64
  int64_t context = 64;    // of it usable: what was asked for
  KvType kv_type = KvType::f16;
};

class Activations {
 public:
  Activations(const ModelConfig& config, const ActivationSizes& sizes, sync::Pool* pool);
  ~Activations();
  Activations(const Activations&) = delete;
  Activations& operator=(const Activations&) = delete;

  const ActivationSizes sizes;
  Operand ids, positions;       // int32 [tokens]
  Operand hidden;               // [tokens, H], the residual stream
  Operand normed;               // [tokens, H], a matmul's input
  Operand qkv;                  // [tokens, qkv_width]
  Operand attended;             // [tokens, heads * head_dim_v]
  Operand projected;            // [tokens, H], what attention or the feed-forward network adds to the residual stream
  Operand gate_up;              // [tokens, 2 I]
  Operand activated;            // [tokens, I]
  Operand logits;               // [outputs, vocabulary]
  Operand chosen;               // int32 [outputs], the greedy choice
  Operand rope_table;           // [positions, rope_dim / 2, 2]
  Operand scratch;              // for attention split over the cache
  std::vector<KvCache> caches;  // one per layer

 private:
  Operand take(size_t bytes, sync::SlotUse use, std::string label);
  sync::Pool* pool_;
  std::vector<sync::Slot*> slots_;
};

}  // namespace tandem
