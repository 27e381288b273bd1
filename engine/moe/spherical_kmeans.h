// Spherical k-means (Dhillon and Modha 2001): groups vectors by direction, whatever their length.
//
// Contract: a pure function; the same rows and seed give the same groups.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tandem {

inline constexpr int kMostKMeansRounds = 30;  // then only few rows still change, between two near centres

struct DirectionGroups {
  std::vector<float> centres;     // f32 [E, H]: the direction of the sum of each group's rows, of length 1
  std::vector<int32_t> group_of;  // [N]: the centre with the largest cosine; among equals, the lowest index
  int rounds = 0;                 // until no row changed its group, or kMostKMeansRounds
};

// rows: f32 [N, H]. Starts are chosen as in k-means++ (Arthur and Vassilvitskii 2007): the chance of a row grows with
// its distance from the starts before. A group that loses all its rows keeps its centre. Error: fewer rows than groups.
DirectionGroups group_directions(std::span<const float> rows, int64_t H, int64_t E, uint64_t seed);

}  // namespace tandem
