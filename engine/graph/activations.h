// The buffers of a decoder pass, one set that every layer reuses (H10), and the KV cache.
//
// Ownership: slots belong to the pool; Activations releases them in its destructor. Without a pool (models of shapes
// only) every Operand is empty, and only shapes are right.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/device/operator.h"
#include "engine/model/config.h"
#include "sync/pool.h"

namespace tandem {

struct ActivationSizes {
  int64_t tokens = 1;      // most tokens of one pass
  int64_t logit_rows = 1;  // most tokens of one pass that get logits
  int64_t positions = 64;  // of one sequence; a multiple of 64
  int64_t context = 64;    // usable positions among them, as requested
  KvType kv_type = KvType::f16;
  // Tokens that a buffer holds; more than `tokens` and `logit_rows` if a graph pads. 0: as many as these.
  int64_t rows = 0, padded_logit_rows = 0;
  int64_t segments = 1;    // most runs of tokens, each of one sequence, in one pass
  int64_t tree_depth = 0;  // most positions that a tree of drafts adds; 0: no trees
  int64_t pages = 0;       // pages of the KV cache, kCachePage positions each; 0: those of `positions`
  // Whether the last layer's routing has every token of a pass, and not only those with logits.
  bool routes_every_token = false;
  bool hidden_states = false;   // passes end with the last norm's rows instead of logits
  int64_t guess_layers = 0;     // later layers whose experts each layer guesses
  int64_t prefetch_layers = 0;  // the most of them in passes whose link copies ahead (Batch::prefetch)
  int64_t expert_rows = 0;      // rows of the static graphs of experts on an NPU; 0: no such graphs
  bool experts_move = false;
  LaneSizes lanes{};  // of decisions about experts; slots 0: there are none
  // Sides that compute experts, if there are near-memory units: the GPU and the units behind it; 0: no units.
  int64_t expert_sides = 0;
  int64_t expert_partials = 0;  // buffers for partial sums of units beyond the first
};

// Buffers of the static graphs of experts, reused from layer to layer.
struct ExpertRowBuffers {
  Operand choice_of;  // int32 [expert_rows]
  Operand row_of;     // int32 [rows, k]
  Operand gathered;   // [expert_rows, H]
  Operand gate_up;    // [expert_rows, 2 I]
  Operand activated;  // [expert_rows, I]
  Operand found;      // [expert_rows, H]
};

// Buffers of lanes that divide experts (engine/plan/lane_steps.h), reused from layer to layer.
struct LaneBuffers {
  // int32 [LaneLayout::words()] of a pass with all tokens, for layers with even and with odd numbers
  std::array<Operand, 2> tables;
  Operand gate_up;    // [rows * k, 2 I] of the experts on the host
  Operand activated;  // [rows * k, I]
  Operand found;      // [rows * k, H]
};

// Buffers of the experts on near-memory units, reused from layer to layer. Choice c of a token has row c, as with the
// GPU's own results.
struct UnitBuffers {
  Operand ids, lists;  // int32 [expert_sides, rows, k] and [expert_sides, rows, expert_list_words], of each side
  size_t side_ids_bytes = 0, side_lists_bytes = 0;
  Operand row_of;                   // int32 [rows, k]
  Operand gate_up;                  // [rows * k, 2 I]
  Operand activated;                // [rows * k, I]
  Operand found;                    // [rows * k, H]
  std::vector<Operand> partials{};  // each as `found`
};

// The routing of a pass's tokens in one layer.
struct LayerRouting {
  int64_t width = 0;  // of scores: E, plus one after them if the shared experts have a gate
  Operand scores;     // f32 [rows, width]
  Operand ids;        // int32 [rows, k], ascending
  Operand weights;    // f32 [rows, k]
  // Y3: scores of later layers' routers for this layer's residual stream, [rows, width]: of the next layer with
  // experts, of the one after it, and so on.
  std::vector<Operand> guesses{};
};

class Activations {
 public:
  Activations(const ModelConfig& config, const ActivationSizes& sizes, sync::Pool* pool);
  ~Activations();
  Activations(const Activations&) = delete;
  Activations& operator=(const Activations&) = delete;

  const ActivationSizes sizes;
  Operand ids, positions;  // int32 [tokens]
  // int32 [tokens]: the last position that each token sees. Its own; where tokens see all of their text, the text's
  // last one, in a buffer of its own.
  Operand last_seen;
  Segments segments;         // room for sizes.segments
  Operand hidden;            // [rows, H], the residual stream
  Operand normed;            // [rows, H], a matmul's input
  Operand guess_normed;      // [rows, H], the input of a guess
  Operand qkv;               // [rows, projected_width]
  Operand query_latents;     // [rows, query_rank], only for latents of queries
  Operand queries;           // [rows, query_width], likewise
  Operand latent_queries;    // [rows, heads * head_dim], only for latent attention
  Operand attended;          // [rows, heads * head_dim_v]
  Operand values;            // [rows, attended_width], only for latent attention: values from attended latents
  Operand projected;         // [rows, H], result of attention or the feed-forward network for the residual stream
  Operand gate_up;           // [rows, 2 I]; without a gate [rows, I]
  Operand activated;         // [rows, I]
  Operand shared;            // [rows, H], result of the shared experts
  Operand expert_lists;      // int32 [rows, expert_list_words]
  Operand expert_places;     // int32 [rows, k], only if experts move: the slot of each choice
  Operand expert_gate_up;    // [rows * k, 2 I] of each expert
  Operand expert_activated;  // [rows * k, I]
  Operand expert_found;      // [rows * k, H]
  ExpertRowBuffers expert_rows;
  LaneBuffers lanes;
  UnitBuffers units;
  // [padded_logit_rows, vocabulary], or the states [padded_logit_rows, H]. Passes write to the first of them, unless
  // its values are kept (engine/run/pass/logits.h). All are keepable slots.
  std::vector<Operand> logits;
  Operand rope_table;           // [positions, rope.dim / 2, 2]
  Operand window_rope_table;    // the table of layers with a window, if their rotation differs
  Operand query_rope_table;     // the table of queries, if they have a temperature
  Operand temperature_table;    // factors on queries that are not rotated, in the form of a rotation's table
  Operand slopes;               // f32 [heads], of ALiBi
  Operand ones;                 // f32 [max(rows, head_dim)], only where something needs them
  Operand scaled;               // [rows, H], the input of experts that is multiplied by a weight
  Operand scratch;              // for attention split over the cache
  std::vector<KvCache> caches;  // one per layer
  // One per layer, empty for layers without experts. It stays until the next pass, so that callers can read it.
  std::vector<LayerRouting> routing;

  void add_logits();  // one more buffer for them; Error: there is no memory for it

  // Segments of a batch with `count` segments, with or without trees of drafts.
  Segments segments_of(int64_t count, bool trees) const;

  size_t bytes() const;  // of all buffers except the caches and the rotation's table (H10)

 private:
  void fill_tables(const ModelConfig& config);
  Operand take(size_t bytes, sync::SlotUse use, std::string label, bool keepable = false);
  sync::Pool* pool_;
  size_t logits_bytes_ = 0;  // of one buffer
  std::vector<sync::Slot*> slots_;
};

// Writes positions first, first + 1, ... for a pass of `count` tokens of one sequence that has the cache's first pages.
void write_positions(const Activations& activations, int64_t first, int64_t count);

// A run of tokens of one sequence.
struct TokenRun {
  int64_t tokens = 0, first_position = 0;
  std::span<const int32_t> pages;  // enough for its places
  // Only for one token of a tree of drafts: the places of its ancestors in the tree, and its own place. They are the
  // last positions up to its own. Otherwise empty: places equal positions.
  std::vector<int32_t> path{};
};
// Writes for a batch of `segments` segments: the positions of a pass, and where its runs begin, with their pages and
// paths. There may be more segments than runs.
void write_runs(const Activations& activations, std::span<const TokenRun> runs, int64_t segments);

}  // namespace tandem
