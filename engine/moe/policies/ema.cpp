// EMA: the formula of MRS (Y4) with 1 for each chosen expert in place of its score, and a slow alpha. The moving
// average of how often an expert is chosen.
#include "engine/moe/policies/policies.h"
#include "engine/moe/policies/recent_score.h"

namespace tandem {
namespace {

class EmaPolicy : public ExpertPolicy {
 public:
  EmaPolicy(int64_t experts, double alpha) : score_(experts, alpha) {}

  void begin() override { score_.clear(); }
  void take_token(const TokenRequest& request) override {
    score_.fade();
    for (const int32_t expert : request.ids) score_.add(expert, 1);
  }
  void take(const TokenRequest&, size_t) override {}
  int32_t victim(std::span<const int32_t> experts) const override { return score_.least(experts); }

 private:
  RecentScore score_;
};

}  // namespace

MadePolicy make_ema(const PolicySettings& settings, const LayerRequests& requests) {
  return std::make_unique<EmaPolicy>(requests.experts, settings.ema_alpha);
}

}  // namespace tandem
