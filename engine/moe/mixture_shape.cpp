// The sizes of a mixture that times depend on, taken from its configuration.
#include "engine/moe/mixture_shape.h"

#include "sync/error.h"

namespace tandem {

// Each token multiplies with the projections and shared experts once, and on average with half of the prompt's
// keys and values.
double MixtureShape::attention_flops(int64_t P) const {
  const int64_t weights = projection_weights + 3 * expert.hidden * shared_feed_forward;
  const double products = static_cast<double>(product_width) * static_cast<double>(P) / 2;
  return 2 * static_cast<double>(P) * (static_cast<double>(weights) + products);
}

// Takes from the configuration what the times need. Layers without experts are left out.
MixtureShape mixture_shape(const ModelConfig& config) {
  if (!config.experts) throw Error("this model is no mixture of experts", config.name, "Name one that is: phi-3.5-moe");
  const ExpertsConfig& experts = *config.experts;
  MixtureShape shape;
  for (int64_t l = 0; l < config.layers; ++l) shape.layers += config.has_experts(l) ? 1 : 0;
  shape.experts = experts.count;
  shape.used = experts.used;
  shape.expert = {config.hidden, experts.feed_forward};
  shape.shared_feed_forward = experts.shared_feed_forward;
  shape.projection_weights = config.hidden * (config.projected_width() + config.attended_width());
  shape.product_width = config.q_width() + config.heads * config.head_dim_v;
  if (config.latent && config.latent->query_rank > 0)
    shape.projection_weights += config.latent->query_rank * config.query_width();
  if (const auto& latent = config.latent) {  // queries go into the latent space, and results come out of it
    shape.projection_weights += config.heads * latent->rank * (latent->nope + latent->value);
    shape.product_width = config.heads * (latent->rank + latent->rope + latent->rank);
  }
  return shape;
}

}  // namespace tandem
