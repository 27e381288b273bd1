// Routers for experts that were not trained with one: made of what the layer reads while it reads a text.
//
// Contract: a pure function; the same inputs and seed give the same router.
//
// The inputs are grouped by direction (engine/moe/spherical_kmeans.h), and an expert's row is its group's centre times
// a temperature: a token's best expert is that of its group, and its others are those of the groups next to it. Nothing
// evens out how large groups are, so some experts are much busier than others. The temperature is such that a token's
// scores deviate from their mean by 1 over the experts (in the root of the mean square over the tokens). The two
// largest of 16 normally spread scores of deviation 1 are then about half a unit apart, so that two experts have
// weights of about 0.6 and 0.4: neither equal ones nor one that is all.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tandem {

// inputs: f32 [tokens, H], at least E tokens (Error otherwise). Gives f32 [E, H]; zeros where all inputs have one
// direction.
std::vector<float> router_of(std::span<const float> inputs, int64_t H, int64_t E, uint64_t seed);

}  // namespace tandem
