#include "bench/paper_hybrimoe/routing.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tandem::paper_hybrimoe {
namespace {

// The ids of the `count` largest values, the largest first; of equals the lower id.
std::vector<int32_t> largest(const std::vector<double>& values, size_t count) {
  std::vector<int32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  const auto before = [&](int32_t a, int32_t b) {
    const double x = values[static_cast<size_t>(a)], y = values[static_cast<size_t>(b)];
    return x > y || (x == y && a < b);
  };
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(), before);
  order.resize(count);
  return order;
}

}  // namespace

// Popularity is drawn once and stays. It is the part of a score that all tokens share.
DrawnLayer::DrawnLayer(const RoutingConstants& constants, int64_t experts, int64_t used, uint64_t seed)
    : constants_(constants), used_(used), draw_(seed) {
  const auto E = static_cast<size_t>(experts);
  moving_.resize(E);
  scores_.resize(E);
  for (size_t e = 0; e < E; ++e) popularity_.push_back(draw_.normal());
  by_popularity_ = largest(popularity_, E);
}

void DrawnLayer::restart() { fresh_ = true; }

// The moving part has variance 1 at all times, and the correlation rho from token to token.
void DrawnLayer::next() {
  const double kept = fresh_ ? 0 : constants_.rho;
  const double added = std::sqrt(1 - kept * kept);
  fresh_ = false;
  for (size_t e = 0; e < moving_.size(); ++e) {
    moving_[e] = kept * moving_[e] + added * draw_.normal();
    scores_[e] = constants_.sigma * popularity_[e] + moving_[e];
  }
  chosen_ = largest(scores_, static_cast<size_t>(used_));
}

// The largest score is taken away first, so no exponential overflows.
std::vector<double> softmax_of(const std::vector<double>& scores) {
  const double most = std::ranges::max(scores);
  std::vector<double> shares;
  for (const double score : scores) shares.push_back(std::exp(score - most));
  const double sum = std::reduce(shares.begin(), shares.end());
  for (double& share : shares) share /= sum;
  return shares;
}

}  // namespace tandem::paper_hybrimoe
