// The layers of a mixture of experts, as its times need them: sizes without weights.
//
// Contract: a plain value, and pure functions. Widths in elements.
#pragma once

#include <cstdint>

#include "engine/model/config.h"
#include "engine/moe/chip_experts.h"

namespace tandem {

struct MixtureShape {
  int64_t layers = 0;             // number of layers with experts
  int64_t experts = 0, used = 0;  // E, k
  ExpertSize expert;
  int64_t shared_feed_forward = 0;  // I of the shared experts, which run on the processor of the attention; 0: none
  int64_t projection_weights = 0;   // elements of attention's matrices
  int64_t product_width = 0;        // for all heads together: values of a query plus values of its result

  // Operations of one layer's attention and shared experts for a prompt of P tokens. A token sees half of the
  // prompt on average.
  double attention_flops(int64_t P) const;
};

MixtureShape mixture_shape(const ModelConfig& config);  // Error: it has no experts

}  // namespace tandem
