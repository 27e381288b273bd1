#include "engine/run/warm_kernels.h"

#include <vector>

#include "engine/run/timeline.h"

namespace tandem {
namespace {

// Attention and matmuls of many tokens are tiled by up to 16; the rest of a longer pass is one of these.
constexpr int64_t kTokens[] = {1, 2, 3, 4, 5, 6, 7, 8, 16, 33, 64};

}  // namespace

void warm_kernels(Engine& engine, const std::function<bool(int64_t done, int64_t total)>& progress) {
  int64_t done = 0;
  const auto total = static_cast<int64_t>(2 * std::size(kTokens));
  for (const int64_t S : kTokens) {
    const std::vector<int32_t> ids(static_cast<size_t>(S), 0);
    engine.prepare_kernels(S);
    for (const bool recorded : {false, true}) {
      Timeline timeline;
      engine.rewind(0);
      engine.record(recorded ? &timeline : nullptr);
      engine.extend(ids);
      engine.record(nullptr);
      if (!progress(++done, total)) return;
    }
  }
}

}  // namespace tandem
