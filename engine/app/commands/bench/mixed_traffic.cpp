#include "engine/app/commands/bench/mixed_traffic.h"

#include <random>

namespace tandem::app {
namespace {

constexpr double kLoad = 0.9;

double uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }  // in [0, 1)

int64_t uniform_length(std::mt19937_64& random, int64_t most) {
  return 1 + static_cast<int64_t>(uniform(random) * static_cast<double>(most));
}

}  // namespace

// The standard defines the generator's bits, and the draws are computed here.
std::vector<MixedRequest> mixed_requests(const MixedTraffic& traffic) {
  std::mt19937_64 random(traffic.seed);
  const double active_passes = static_cast<double>(traffic.most_written + 1) / 2;
  const double a_pass = kLoad * static_cast<double>(traffic.width) / active_passes;  // requests that arrive
  const double another = a_pass / (1 + a_pass);
  std::vector<MixedRequest> requests;
  int64_t pass = 0;
  while (static_cast<int64_t>(requests.size()) < traffic.requests) {
    while (static_cast<int64_t>(requests.size()) < traffic.requests && uniform(random) < another)
      requests.push_back(
          {pass, uniform_length(random, traffic.most_prompt), uniform_length(random, traffic.most_written)});
    ++pass;
  }
  return requests;
}

}  // namespace tandem::app
