// Models as shapes only. They are enough to build a decoder's operators, to plan them and to run the plan on a model
// clock. No weights are in memory.
//
// Contract: a shape comes from the table of published models by name, from a JSON file, or from the header of a GGUF
// file. Required JSON keys: `schema` (1), `layers`, `hidden`, `feed_forward`, `heads` and `vocabulary`. Keys with
// defaults: `name`, `architecture` (a name as in GGUF files), `kv_heads` (= heads), `head_dim` (= hidden / heads),
// `context_length`, `rope_base` and `rotated` (= head_dim). Also with defaults: `tied_output`, `qkv_bias`, `qk_norm`
// and `sliding_window`. A mixture of experts requires `experts` and `experts_used`. Its keys with defaults:
// `expert_feed_forward` (= feed_forward), `shared_feed_forward`, `dense_layers`, `expert_step`, `expert_scale`,
// `expert_groups`, `expert_groups_used`, `expert_sigmoid`, `expert_bias` and `expert_norm`. Latent attention requires
// `kv_lora_rank`, `nope_dim`, `rope_dim` and `value_dim`, and may have `q_lora_rank`. Error, naming file and key: an
// unknown key, a wrong type, or a value out of range. Error too: parts that the architecture does not have, and missing
// parts that it must have.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "engine/model/config.h"
#include "engine/model/weights.h"
#include "engine/tensor/packed.h"

namespace tandem {

struct PublishedExperts {
  int64_t count = 0, used = 0, feed_forward = 0, shared_feed_forward = 0, dense_layers = 0;  // as in ExpertsConfig
  bool sigmoid_and_bias = false;  // sigmoid gating, a bias that chooses, weights that add up to 1
  float scale = 1;
  int64_t groups = 1, groups_used = 1, step = 1;
};
struct PublishedLatent {
  int64_t rank = 0, nope = 0, rope = 0, value = 0, query_rank = 0;  // as in LatentConfig
};
struct PublishedShape {
  const char* name;  // "llama-3-8b"
  const char* architecture;
  int64_t layers, hidden, feed_forward, heads, kv_heads, head_dim, vocabulary, context_length;
  float rope_base;
  bool tied_output = false, qkv_bias = false, qk_norm = false;
  PublishedExperts experts = {};  // count 0: none
  PublishedLatent latent = {};    // rank 0: none
  int64_t rotated = 0;            // values of each head that are rotated; 0: all
};
std::span<const PublishedShape> published_shapes();

// The shape of a published model by its name, or of a .json or .gguf file by its path.
ModelConfig model_shape(const std::string& name_or_path);
ModelConfig parse_shape(std::string_view json, const std::string& source);

// A model without weight bytes. Formats, rows and columns are right, and every Operand is absent. separate: q, k, v,
// gate and up are separate matrices with a matmul each. Engines that do not join them run them so.
Model shape_only_model(const ModelConfig& config, const PackedFormat& format, bool separate = false);

}  // namespace tandem
