// Says which products of a feed-forward network have biases.
#pragma once

#include "engine/model/config.h"

namespace tandem {

// True if the first products have biases: gate and up, or up alone. Gated encoders have one behind the last product
// alone. Granite Code, whose files say `llama`, has all three.
inline bool first_products_have_biases(const ModelConfig& config) {
  return config.ffn_bias && !(config.gated && config.sees_all);
}

}  // namespace tandem
