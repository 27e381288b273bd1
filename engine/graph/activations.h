// The buffers a decoder pass works in: one set, reused from layer to layer (H10), and the KV cache.
//
// Ownership: slots belong to the pool; Activations gives them back when it dies. Without a pool (shape-only models)
// every Operand is empty and only shapes are right.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/device/operator.h"
#include "engine/model/config.h"
#include "sync/pool.h"

namespace tandem {

struct ActivationSizes {
  int64_t tokens = 1;      // most tokens of one pass
  int64_t outputs = 1;     // most tokens of one pass that get logits
  int64_t positions = 64;  // of one sequence, a multiple of 64
  int64_t context = 64;    // of them usable: what was asked for
  KvType kv_type = KvType::f16;
  // Tokens that a buffer holds, more where a graph pads; 0: tokens, outputs.
  int64_t rows = 0, output_rows = 0;
  int64_t segments = 1;     // most sequences' runs of tokens in one pass
  int64_t tree_depth = 0;   // positions that a tree of drafts may go on for; 0: there are none
  int64_t pages = 0;        // of the KV cache, kCachePage positions each; 0: those of `positions`
  int64_t expert_rows = 0;  // of experts on an NPU: rows of their static graphs; 0: there are none
};

// What static graphs of experts work in, reused from layer to layer.
struct ExpertRowBuffers {
  Operand choice_of;  // int32 [expert_rows]
  Operand row_of;     // int32 [rows, k]
  Operand gathered;   // [expert_rows, H]
  Operand gate_up;    // [expert_rows, 2 I]
  Operand activated;  // [expert_rows, I]
  Operand found;      // [expert_rows, H]
};

// Where the tokens of a pass go in one layer.
struct LayerRouting {
  int64_t width = 0;  // of scores: E, and one more where the shared experts have a gate, which stands behind them
  Operand scores;     // f32 [rows, width]
  Operand ids;        // int32 [rows, k], ascending
  Operand weights;    // f32 [rows, k]
};

class Activations {
 public:
  Activations(const ModelConfig& config, const ActivationSizes& sizes, sync::Pool* pool);
  ~Activations();
  Activations(const Activations&) = delete;
  Activations& operator=(const Activations&) = delete;

  const ActivationSizes sizes;
  Operand ids, positions;    // int32 [tokens]
  Segments segments;         // of sizes.segments
  Operand hidden;            // [rows, H], the residual stream
  Operand normed;            // [rows, H], a matmul's input
  Operand qkv;               // [rows, projected_width]
  Operand latent_queries;    // [rows, heads * head_dim], of latent attention
  Operand attended;          // [rows, heads * head_dim_v]
  Operand values;            // [rows, attended_width], of latent attention: made of what was attended to
  Operand projected;         // [rows, H], what attention or the feed-forward network adds to the residual stream
  Operand gate_up;           // [rows, 2 I]
  Operand activated;         // [rows, I]
  Operand shared;            // [rows, H], what the shared experts found
  Operand expert_lists;      // int32 [rows, expert_list_words]
  Operand expert_gate_up;    // [rows * k, 2 I] of an expert
  Operand expert_activated;  // [rows * k, I]
  Operand expert_found;      // [rows * k, H]
  ExpertRowBuffers expert_rows;
  Operand logits;               // [output_rows, vocabulary]
  Operand rope_table;           // [positions, rope.dim / 2, 2]
  Operand window_rope_table;    // that of layers with a window, where it is another one
  Operand scratch;              // for attention split over the cache
  std::vector<KvCache> caches;  // one per layer
  // One per layer, empty where it has no experts: kept until the next pass, so that it can be looked at.
  std::vector<LayerRouting> routing;

  // Of a batch that has so many, with trees of drafts or without.
  Segments segments_of(int64_t count, bool trees) const;

  size_t bytes() const;  // of all buffers but the caches and the rotation's table (H10)

 private:
  Operand take(size_t bytes, sync::SlotUse use, std::string label);
  sync::Pool* pool_;
  std::vector<sync::Slot*> slots_;
};

// Positions first, first + 1, ... of a pass of `count` tokens of one sequence, which has the cache's first pages.
void write_positions(const Activations& activations, int64_t first, int64_t count);

// A run of tokens of one sequence.
struct TokenRun {
  int64_t tokens = 0, first_position = 0;
  std::span<const int32_t> pages;  // as many as its places need
  // Of one token of a tree: where the tokens of the tree lie that it goes on from, and where it lies itself, which are
  // the last positions up to its own. Otherwise none: places are positions.
  std::vector<int32_t> path{};
};
// Positions of a pass, and where its runs begin, have their pages and their paths, for a batch of `segments`, which may
// be more than there are runs.
void write_runs(const Activations& activations, std::span<const TokenRun> runs, int64_t segments);

}  // namespace tandem
