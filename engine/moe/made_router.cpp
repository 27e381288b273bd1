// Makes a router for a mixture that is cut out of a dense model: the directions of groups of inputs are the rows of
// the router.
#include "engine/moe/made_router.h"

#include <cmath>

#include "engine/moe/spherical_kmeans.h"

namespace tandem {
namespace {

// Variance of a row's scores over the experts.
double variance(std::span<const float> row, const std::vector<float>& centres) {
  const size_t H = row.size(), E = centres.size() / H;
  double sum = 0, squares = 0;
  for (size_t e = 0; e < E; ++e) {
    double score = 0;
    for (size_t h = 0; h < H; ++h) score += static_cast<double>(row[h]) * centres[e * H + h];
    sum += score, squares += score * score;
  }
  const double mean = sum / static_cast<double>(E);
  return squares / static_cast<double>(E) - mean * mean;
}

}  // namespace

// Scales the centres so that the root mean square deviation of a token's scores is 1.
std::vector<float> router_of(std::span<const float> inputs, int64_t H, int64_t E, uint64_t seed) {
  std::vector<float> router = group_directions(inputs, H, E, seed).centres;
  const auto width = static_cast<size_t>(H);
  double total = 0;
  for (size_t at = 0; at < inputs.size(); at += width) total += variance(inputs.subspan(at, width), router);
  const double deviation =
      std::sqrt(std::max(0.0, total * static_cast<double>(H) / static_cast<double>(inputs.size())));
  // Below this deviation, scores differ only by rounding.
  constexpr double kLeast = 1e-6;
  const double temperature = deviation > kLeast ? 1 / deviation : 0;
  for (float& value : router) value = static_cast<float>(temperature * value);
  return router;
}

}  // namespace tandem
