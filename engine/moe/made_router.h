// Makes routers for experts that were trained without one, from the inputs of a layer while it reads a text.
//
// Contract: a pure function; the same inputs and seed give the same router.
//
// Inputs are grouped by direction (engine/moe/spherical_kmeans.h). An expert's row is its group's centre times a
// temperature. So a token's best expert is the one of its group, and its other experts belong to the nearest groups.
// Group sizes are not balanced, so some experts are much busier than others.
// The temperature makes the standard deviation of a token's scores over the experts 1 (root mean square over the
// tokens). The two largest of 16 normal scores of deviation 1 are then about half a unit apart. So two experts have
// weights of about 0.6 and 0.4, neither equal nor one-sided.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tandem {

// inputs: f32 [tokens, H], at least E tokens (Error otherwise). Returns f32 [E, H]. If all inputs have one direction,
// the router is all zeros.
std::vector<float> router_of(std::span<const float> inputs, int64_t H, int64_t E, uint64_t seed);

}  // namespace tandem
