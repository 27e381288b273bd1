// The passes that the bench `regret` plays: as a user's come, of any length and at any depth.
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
  int64_t context = 2048;  // positions there are
  int64_t longest = 256;   // tokens of a pass
  uint64_t seed = 1;
};

// Half of the passes are single tokens, the lengths of the others are spread evenly over 1 to `longest` by their
// logarithm. Half of them go on where the text ends, as long as it fits; the others begin anywhere in the text so far,
// so that no pass needs another one before it that is not in the list.
std::vector<Pass> random_passes(const PassRequest& request);

}  // namespace tandem::bench
