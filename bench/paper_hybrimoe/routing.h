// Routing of a model that has no recorded trace here: drawn scores, whose two constants are fitted to its printed
// hits of LRU.
//
// Contract: the same constants give the same scores, as engine/moe/draw.h says. An
//   expert's score is sigma * z + x: z is its popularity, normal and drawn once; x is normal with the correlation rho
//   from token to token. A token takes the k highest scores. Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/moe/draw.h"

namespace tandem::paper_hybrimoe {

struct RoutingConstants {
  double sigma = 0, rho = 0;
};

class DrawnLayer {
 public:
  DrawnLayer(const RoutingConstants& constants, int64_t experts, int64_t used, uint64_t seed);

  void next();                                                    // one token on
  void restart();                                                 // the next token belongs to another text
  const std::vector<double>& scores() const { return scores_; }   // [E], before the softmax
  const std::vector<int32_t>& chosen() const { return chosen_; }  // by falling score
  const std::vector<int32_t>& by_popularity() const { return by_popularity_; }

 private:
  RoutingConstants constants_;
  int64_t used_;
  Draw draw_;
  std::vector<double> popularity_, moving_, scores_;
  std::vector<int32_t> chosen_, by_popularity_;
  bool fresh_ = true;
};

std::vector<double> softmax_of(const std::vector<double>& scores);
// YF28: TopP keeps this many scores.
inline int64_t kept_scores(int64_t experts, int64_t used) { return used * 2 < experts ? used * 2 : experts; }

}  // namespace tandem::paper_hybrimoe
