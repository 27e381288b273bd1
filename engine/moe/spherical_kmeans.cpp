// Groups vectors by direction: k-means on the unit sphere. The seed decides the starts, and nothing else is random.
#include "engine/moe/spherical_kmeans.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "engine/moe/weighted_pick.h"
#include "sync/error.h"

namespace tandem {
namespace {

// Scales a vector to length 1; zeros stay zeros.
void normalise(std::span<const double> vector, float* out) {
  double squares = 0;
  for (const double value : vector) squares += value * value;
  const double factor = squares > 0 ? 1 / std::sqrt(squares) : 0;
  for (size_t i = 0; i < vector.size(); ++i) out[i] = static_cast<float>(factor * vector[i]);
}

// Rows and centres have length 1, so the largest dot product belongs to the nearest centre. Lengths of the rows have
// no influence.
class KMeans {
 public:
  KMeans(std::span<const float> rows, int64_t H, int64_t E)
      : H_(static_cast<size_t>(H)), E_(static_cast<size_t>(E)), N_(rows.size() / H_), directions_(rows.size()) {
    std::vector<double> row(H_);
    for (size_t n = 0; n < N_; ++n) {
      std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(n * H_), H_, row.begin());
      normalise(row, directions_.data() + n * H_);
    }
    groups_.centres.resize(E_ * H_);
    groups_.group_of.assign(N_, -1);
  }

  // Alternates between assigning rows and moving centres until no row changes its group.
  DirectionGroups run(uint64_t seed) {
    choose_starts(seed);
    bool moved = true;
    while (moved && groups_.rounds < kMostKMeansRounds) {
      moved = assign();
      if (moved) move_centres();
      ++groups_.rounds;
    }
    if (moved) assign();  // by the final centres
    return std::move(groups_);
  }

 private:
  const float* direction(size_t n) const { return directions_.data() + n * H_; }
  float* centre(size_t e) { return groups_.centres.data() + e * H_; }

  // k-means++: draws each start with a chance in proportion to the distance from the nearest start before.
  void choose_starts(uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<double> distances(N_, 1);  // 1 - cosine, to the nearest start
    for (size_t e = 0; e < E_; ++e) {
      const size_t start = draw(distances, random());
      std::copy_n(direction(start), H_, centre(e));
      for (size_t n = 0; n < N_; ++n) {
        double cosine = 0;
        for (size_t h = 0; h < H_; ++h) cosine += static_cast<double>(direction(n)[h]) * centre(e)[h];
        distances[n] = std::min(distances[n], std::max(0.0, 1 - cosine));
      }
      distances[start] = 0;
    }
  }

  // Uses the top bits of `random`: the standard's distributions differ between libraries.
  static size_t draw(const std::vector<double>& weights, uint64_t random) {
    double total = 0;
    for (const double weight : weights) total += weight;
    return weighted_pick(weights, total * static_cast<double>(random >> 11) * 0x1p-53);
  }

  // Returns whether any row changed its group. The inner loop runs over all centres of one column, so that it
  // is vectorised.
  bool assign() {
    // Transposed centres: the inner loop then reads neighbouring values.
    std::vector<float> columns(H_ * E_);  // [H, E]
    for (size_t e = 0; e < E_; ++e)
      for (size_t h = 0; h < H_; ++h) columns[h * E_ + e] = centre(e)[h];
    std::vector<float> cosines(E_);
    bool moved = false;
    for (size_t n = 0; n < N_; ++n) {
      std::ranges::fill(cosines, 0.0f);
      for (size_t h = 0; h < H_; ++h) {
        const float value = direction(n)[h];
        const float* column = columns.data() + h * E_;
        for (size_t e = 0; e < E_; ++e) cosines[e] += value * column[e];
      }
      const auto best = static_cast<int32_t>(std::ranges::max_element(cosines) - cosines.begin());
      moved |= best != groups_.group_of[n];
      groups_.group_of[n] = best;
    }
    return moved;
  }

  // Each centre becomes the direction of its rows' sum.
  void move_centres() {
    std::vector<double> sums(E_ * H_);
    std::vector<bool> has_rows(E_);
    for (size_t n = 0; n < N_; ++n) {
      const auto e = static_cast<size_t>(groups_.group_of[n]);
      has_rows[e] = true;
      for (size_t h = 0; h < H_; ++h) sums[e * H_ + h] += direction(n)[h];
    }
    // A centre without rows stays at its place.
    for (size_t e = 0; e < E_; ++e)
      if (has_rows[e]) normalise(std::span(sums).subspan(e * H_, H_), centre(e));
  }

  const size_t H_, E_, N_;
  std::vector<float> directions_;  // [N, H], of length 1
  DirectionGroups groups_;
};

}  // namespace

DirectionGroups group_directions(std::span<const float> rows, int64_t H, int64_t E, uint64_t seed) {
  TANDEM_CHECK(H > 0 && E > 0 && rows.size() % static_cast<size_t>(H) == 0, "rows of groups");
  const int64_t N = static_cast<int64_t>(rows.size()) / H;
  if (N < E)
    throw Error("there are fewer vectors than groups", std::to_string(N) + " for " + std::to_string(E),
                "Take a longer text, or fewer experts");
  return KMeans(rows, H, E).run(seed);
}

}  // namespace tandem
