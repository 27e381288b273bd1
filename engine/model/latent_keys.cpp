#include "engine/model/latent_keys.h"

#include <string>

namespace tandem {
namespace {

constexpr int64_t kMaxLatentWidth = 4096;  // of a head and of what the cache keeps
constexpr int64_t kMaxLatentQueries = int64_t{1} << 20;

// Newer files, whose cache keeps latents, store the heads' own widths in keys with another ending. Older files store
// them in the common keys.
int64_t head_width(const ConfigKeys& keys, const char* key, const char* of_latents) {
  const auto width = keys.size(of_latents, kMaxLatentWidth);
  return width ? *width : keys.require_size(key, kMaxLatentWidth);
}

}  // namespace

// For attention the cache has one head, which all heads of queries share. Its key is the latent and the rotated key,
// and its value is the latent alone.
void set_latent(const LatentConfig& latent, ModelConfig& config) {
  config.latent = latent;
  config.kv_heads = 1;
  config.head_dim = latent.rank + latent.rope;
  config.head_dim_v = latent.rank;
  config.rope.dim = latent.rope;
}

// A head's query has nope + rope values; the file states the sum and `rope`.
void read_latent(const ConfigKeys& keys, ModelConfig& config) {
  LatentConfig latent;
  latent.query_rank = keys.count("attention.q_lora_rank", kMaxLatentQueries);
  latent.rank = keys.require_size("attention.kv_lora_rank", kMaxLatentWidth);
  latent.rope = keys.require_size("rope.dimension_count", kMaxLatentWidth);
  latent.value = head_width(keys, "attention.value_length", "attention.value_length_mla");
  const int64_t width = head_width(keys, "attention.key_length", "attention.key_length_mla");
  latent.nope = width - latent.rope;
  if (latent.nope < 1) {
    keys.fail("attention.key_length", "found heads of " + std::to_string(width) + " values, expected more than the " +
                                          std::to_string(latent.rope) + " that are turned");
  }
  if (latent.rank + latent.rope > kMaxLatentWidth) {
    keys.fail("attention.kv_lora_rank", "found " + std::to_string(latent.rank) + ", expected at most " +
                                            std::to_string(kMaxLatentWidth) + " with the " +
                                            std::to_string(latent.rope) + " that are turned");
  }
  set_latent(latent, config);
}

}  // namespace tandem
