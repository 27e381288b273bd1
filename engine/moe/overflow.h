// N7: what happens to tokens beyond an expert's capacity, where the result need not be exact: those whose attention
// output is smallest are dropped.
//
// Contract: pure functions. What is dropped is the pair of a token and an expert; the token's other experts keep their
// weights.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tandem {

// Saliency of each token: the L2 norm of its row of x, [S, width] with `stride` values from row to row; summed in
// ascending order, in f64.
std::vector<double> saliency(const float* x, int64_t S, int64_t width, int64_t stride);

// Of the tokens that chose an expert, those that have no place in its `capacity`: lowest saliency first, of equals the
// later one. Ascending.
std::vector<int64_t> dropped_tokens(std::span<const int64_t> tokens, std::span<const double> saliency,
                                    int64_t capacity);

}  // namespace tandem
