// Made-up routing with a power law of popularity. The seed depends on the model alone, so all engines meet the
// same tokens.
#include "bench/paper_gpu_ndp/traffic.h"

#include <cmath>
#include <numeric>
#include <utility>

#include "engine/moe/draw.h"
#include "engine/moe/weighted_pick.h"

namespace tandem::paper_gpu_ndp {
namespace {

// Enough draws that means change in the third digit only.
constexpr int64_t kDrawnTokens = 2000, kDrawnPrompts = 16;

// Draws k different experts for each token. Ranks have weights, and a shuffle says which expert has which rank.
class DrawnRouting {
 public:
  DrawnRouting(NdpModel model, double skew) : size_(size_of(model)), draw_(1 + static_cast<uint64_t>(model)) {
    for (int64_t rank = 1; rank <= size_.experts; ++rank)
      weights_.push_back(std::pow(static_cast<double>(rank), -skew));
    sum_ = std::reduce(weights_.begin(), weights_.end());
    id_of_rank_.resize(weights_.size());
    std::iota(id_of_rank_.begin(), id_of_rank_.end(), int64_t{0});
  }

  // Another layer: which expert has which popularity.
  void shuffle() {
    for (size_t i = id_of_rank_.size(); i > 1; --i) std::swap(id_of_rank_[i - 1], id_of_rank_[draw_.below(i)]);
  }

  // A token draws its experts one after another, without any of them twice. Shared experts come on top and are the most
  // popular ones of all.
  RoutedToken token() {
    RoutedToken drawn;
    std::vector<double> left = weights_;
    double sum = sum_;
    for (int64_t choice = 0; choice < size_.used; ++choice) {
      const size_t rank = weighted_pick(left, draw_.uniform() * sum);
      sum -= left[rank];
      left[rank] = 0;
      drawn.experts.push_back(id_of_rank_[rank]);
      drawn.ranks.push_back(static_cast<int64_t>(rank) + size_.shared);
    }
    for (int64_t shared = 0; shared < size_.shared; ++shared) {
      drawn.experts.push_back(size_.experts + shared);
      drawn.ranks.push_back(shared);
    }
    return drawn;
  }

 private:
  const NdpModelSize& size_;
  Draw draw_;
  std::vector<double> weights_;
  double sum_ = 0;
  std::vector<int64_t> id_of_rank_;
};

}  // namespace

// Tokens have new popularities each, as if each were of another layer. A prompt keeps one for all of its tokens.
Traffic drawn_traffic(NdpModel model, double skew) {
  DrawnRouting routing(model, skew);
  Traffic traffic;
  for (int64_t i = 0; i < kDrawnTokens; ++i) {
    routing.shuffle();
    traffic.tokens.push_back(routing.token());
  }
  const auto experts = static_cast<size_t>(size_of(model).experts + size_of(model).shared);
  for (int64_t layer = 0; layer < kDrawnPrompts; ++layer) {
    routing.shuffle();
    std::vector<int64_t>& loads = traffic.prompts.emplace_back(experts);
    for (int64_t token = 0; token < kPromptTokens; ++token)
      for (const int64_t expert : routing.token().experts) ++loads[static_cast<size_t>(expert)];
  }
  return traffic;
}

}  // namespace tandem::paper_gpu_ndp
