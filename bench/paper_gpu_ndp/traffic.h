// Routing for the GPU-NDP model, drawn: the paper prints none.
//
// Contract: the same numbers on every machine, apart from rounding in std::pow. Experts of a layer have popularities
//   1 / rank^skew in a random order. A token chooses TopK different ones, one after another, in these proportions.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/paper_gpu_ndp/machine.h"

namespace tandem::paper_gpu_ndp {

inline constexpr double kSkew = 0.2;  // calibrated by GF15

struct RoutedToken {
  std::vector<int64_t> experts;  // ids; shared experts behind the routed ones
  std::vector<int64_t> ranks;    // popularity of each, from 0 on; shared experts come first of all
};

struct Traffic {
  std::vector<RoutedToken> tokens;            // each of a layer of its own
  std::vector<std::vector<int64_t>> prompts;  // [layers][E + shared]: tokens at each expert in a prompt
};
Traffic drawn_traffic(NdpModel model, double skew);

}  // namespace tandem::paper_gpu_ndp
