// The passes that the bench `regret` plays: of any length and at any depth, like a user's.
//
// Contract: pure; the same seed gives the same passes on every machine.
#pragma once

#include <cstdint>
#include <vector>

namespace tandem::bench {

struct Pass {
  int64_t tokens = 1, depth = 0;  // depth: positions before its first token
  bool operator==(const Pass&) const = default;
};

struct PassRequest {
  int64_t count = 300;
  int64_t context = 2048;  // positions of the engine
  int64_t longest = 256;   // tokens of a pass
  uint64_t seed = 1;
};

// Half of the passes are single tokens; the lengths of the others are evenly spread over 1 to `longest` by their
// logarithm. Half of the passes continue at the end of the text, as long as they fit. The others begin anywhere in the
// text so far, so that a pass needs no pass before it that is not in the list.
std::vector<Pass> random_passes(const PassRequest& request);

}  // namespace tandem::bench
