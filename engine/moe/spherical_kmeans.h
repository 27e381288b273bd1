// Spherical k-means (Dhillon and Modha 2001): vectors in groups of about one direction, whatever their length.
//
// Contract: a pure function; the same rows and seed give the same groups.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tandem {

inline constexpr int kMostKMeansRounds = 30;  // what still moves then are few rows between two near centres

struct DirectionGroups {
  std::vector<float> centres;     // f32 [E, H], each the direction of its rows' sum, of length 1
  std::vector<int32_t> group_of;  // [N]: the centre of the largest cosine, of equals the lowest index
  int rounds = 0;                 // until nothing moved, or kMostKMeansRounds
};

// rows: f32 [N, H]. Starts are chosen as k-means++ does (Arthur and Vassilvitskii 2007): each with a chance that grows
// with its distance from those before. A group that loses all its rows keeps its centre. Error: fewer rows than groups.
DirectionGroups group_directions(std::span<const float> rows, int64_t H, int64_t E, uint64_t seed);

}  // namespace tandem
