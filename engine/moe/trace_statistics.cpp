// Statistics of a trace that say how well caches could do, before any cache is simulated.
#include "engine/moe/trace_statistics.h"

#include <algorithm>
#include <bit>

namespace tandem {

// Distances are in tokens, and counted in powers of two. An expert's first use has none.
ReuseDistances reuse_distances(std::span<const LayerRequests> layers) {
  ReuseDistances distances;
  for (const LayerRequests& layer : layers) {
    std::vector<int64_t> last(static_cast<size_t>(layer.experts), -1);
    for (size_t i = 0; i < layer.ids.size(); ++i, ++distances.requests) {
      const int64_t token = static_cast<int64_t>(i) / layer.used;
      int64_t& before = last[static_cast<size_t>(layer.ids[i])];
      if (before < 0) {
        ++distances.never;
      } else {
        const auto bucket = static_cast<size_t>(std::bit_width(static_cast<uint64_t>(token - before)) - 1);
        if (bucket >= distances.again.size()) distances.again.resize(bucket + 1);
        ++distances.again[bucket];
      }
      before = token;
    }
  }
  return distances;
}

// The mean number of different experts in windows that do not overlap. An incomplete last window is left out.
double experts_in_window(std::span<const LayerRequests> layers, int64_t window) {
  int64_t windows = 0, different = 0;
  for (const LayerRequests& layer : layers) {
    std::vector<int64_t> seen_in(static_cast<size_t>(layer.experts), -1);
    const int64_t whole = layer.tokens() / window;
    for (int64_t i = 0; i < whole * window * layer.used; ++i) {
      int64_t& seen = seen_in[static_cast<size_t>(layer.ids[static_cast<size_t>(i)])];
      const int64_t here = i / (window * layer.used);
      different += seen == here ? 0 : 1;
      seen = here;
    }
    windows += whole;
  }
  return windows == 0 ? 0 : static_cast<double>(different) / static_cast<double>(windows);
}

std::vector<int64_t> uses_of(const LayerRequests& layer) {
  std::vector<int64_t> uses(static_cast<size_t>(layer.experts));
  for (const int32_t expert : layer.ids) ++uses[static_cast<size_t>(expert)];
  return uses;
}

}  // namespace tandem
