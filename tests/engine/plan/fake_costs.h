// Costs of cuts for tests: two processors whose times can be worked out on paper.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/plan/partition/cut.h"

namespace tandem::testing {

inline const std::vector<int64_t> kPowersOfTwo = {32, 64, 128, 256, 512, 1024};  // HeteroLLM's runs (Fig. 14)
inline const std::vector<int64_t> kPaperExamples = {128, 256, 512};              // HeteroLLM 4.1.1
// The sizes of an engine that also decodes.
inline const std::vector<int64_t> kWithDecode = {1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128, 256, 512, 1024};

inline CutLimits limits_with(std::vector<int64_t> sizes) { return {std::move(sizes), 256, 32, 0}; }

// A GPU that takes a second for each token of 4096 rows, and an NPU with whole graphs that is `ratio` times as fast.
inline CutCosts linear_costs(double ratio, double sync_seconds = 0) {
  return {[ratio](const Part& part, bool) {
            const double tokens = static_cast<double>(part.graph_tokens), rows = static_cast<double>(part.rows());
            return tokens * rows / 4096 / (part.side == Side::graphs ? ratio : 1);
          },
          sync_seconds, 0};
}

}  // namespace tandem::testing
