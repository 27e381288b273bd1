// How tokens are sent to experts, in the words that the configuration, operators and the host's loops share.
#pragma once

#include <cstdint>

namespace tandem {

// How a router's scores become the weights of the experts that a token goes to.
enum class Gating : uint8_t {
  softmax,       // of all experts' scores
  sigmoid,       // of each score by itself
  sparse_mixer,  // of each expert in turn, a softmax over what is left and near it (Liu et al. 2023, arXiv:2310.00811)
};

// A choice (a token and one of its experts) has a row of the buffers of static graphs that computed it, or one of
// these.
inline constexpr int32_t kElsewhere = -1;  // another device computed it: its result lies with the choices'
inline constexpr int32_t kDropped = -2;    // nobody computed it

}  // namespace tandem
