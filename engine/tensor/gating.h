// How a router's scores become the weights of the experts that a token goes to.
#pragma once

#include <cstdint>

namespace tandem {

enum class Gating : uint8_t {
  softmax,       // of all experts' scores
  sigmoid,       // of each score by itself
  sparse_mixer,  // of each expert in turn, a softmax over what is left and near it (Liu et al. 2023, arXiv:2310.00811)
};

}  // namespace tandem
