// How tokens are sent to experts: names shared by the configuration, operators and the host's loops.
#pragma once

#include <cstdint>

namespace tandem {

// How a router's scores become the weights of a token's experts.
enum class Gating : uint8_t {
  softmax,       // over all experts' scores
  sigmoid,       // of each score alone
  sparse_mixer,  // for each expert in turn, a softmax over the rest near it (Liu et al. 2023, arXiv:2310.00811)
};

// Row of a choice (a token and one of its experts) in the buffers of static graphs, or one of these:
inline constexpr int32_t kElsewhere = -1;  // another device computed it; its result lies with the choices' results
inline constexpr int32_t kDropped = -2;    // it was not computed

}  // namespace tandem
