// Models as shapes alone: enough to build a decoder's operators, to plan them and to run the plan on a model clock,
// without a weight in memory.
//
// Contract: a shape comes from the table of published models by name, from a JSON file, or from the header of a GGUF
// file. In the JSON, `schema` (1), `layers`, `hidden`, `feed_forward`, `heads` and `vocabulary` are required;
// `name`, `architecture`, `kv_heads` (= heads), `head_dim` (= hidden / heads), `context_length`, `rope_base`,
// `tied_output`, `qkv_bias`, `qk_norm` and `sliding_window` have defaults; `architecture` is one that files have. Of a
// mixture of experts `experts` and `experts_used` are required; `expert_feed_forward` (= feed_forward),
// `shared_feed_forward`, `dense_layers` and `expert_scale` have defaults. Of latent attention `kv_lora_rank`,
// `nope_dim`, `rope_dim` and `value_dim` are. An unknown key, a wrong type, a value out of range, or parts that the
// architecture has not or cannot do without, is an Error naming file and key.
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
};
struct PublishedLatent {
  int64_t rank = 0, nope = 0, rope = 0, value = 0;  // as in LatentConfig
};
struct PublishedShape {
  const char* name;  // "llama-3-8b"
  const char* architecture;
  int64_t layers, hidden, feed_forward, heads, kv_heads, head_dim, vocabulary, context_length;
  float rope_base;
  bool tied_output = false, qkv_bias = false, qk_norm = false;
  PublishedExperts experts = {};  // a count of 0: none
  PublishedLatent latent = {};    // a rank of 0: none
};
std::span<const PublishedShape> published_shapes();

// A published model's name, or the path of a .json or .gguf file.
ModelConfig model_shape(const std::string& name_or_path);
ModelConfig parse_shape(std::string_view json, const std::string& source);

// Weights without bytes: formats, rows and columns are right, every Operand is absent. separate: q, k, v, gate and up
// are matrices of their own, so that each becomes a matmul of its own, as engines run them that do not join them.
Model shape_only_model(const ModelConfig& config, const PackedFormat& format, bool separate = false);

}  // namespace tandem
