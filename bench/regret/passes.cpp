#include "bench/regret/passes.h"

#include <algorithm>
#include <cmath>

namespace tandem::bench {
namespace {

// SplitMix64, because the distributions of the standard library differ between machines.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  double below_one() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  int64_t up_to(int64_t most) {  // a number from 0 to most
    return std::min(most, static_cast<int64_t>(below_one() * static_cast<double>(most + 1)));
  }
  bool coin() { return (next() >> 63) != 0; }

 private:
  // SplitMix64, because the standard's distributions differ between libraries.
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  uint64_t state_;
};

// Single tokens are half of all passes, as in writing. Other lengths are spread evenly by their logarithm.
int64_t random_length(Random& random, int64_t longest) {
  if (random.coin()) return 1;
  const double length = std::exp(random.below_one() * std::log(static_cast<double>(longest + 1)));
  return std::clamp(static_cast<int64_t>(length), int64_t{1}, longest);
}

}  // namespace

// Passes of a made-up user: half go on where the text ended, and the others return to an earlier depth.
std::vector<Pass> random_passes(const PassRequest& request) {
  Random random(request.seed);
  const int64_t longest = std::min(request.longest, request.context);
  std::vector<Pass> passes;
  int64_t end = 0;  // the end of the text so far
  while (static_cast<int64_t>(passes.size()) < request.count) {
    const int64_t tokens = random_length(random, longest);
    const int64_t deepest = std::min(end, request.context - tokens);
    // The other half goes back to any depth, as texts with a shared beginning do.
    const bool goes_on = random.coin() && deepest == end;
    passes.push_back({tokens, goes_on ? end : random.up_to(deepest)});
    end = std::max(end, passes.back().depth + tokens);
  }
  return passes;
}

}  // namespace tandem::bench
