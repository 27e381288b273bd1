// Numbers that the HybriMoE paper prints: Table III, Fig. 9 and the averages.
#pragma once

#include <array>

#include "bench/paper_hybrimoe/lab.h"

namespace tandem::paper_hybrimoe {

inline constexpr double kKtPrompt = 1.47, kKtToken = 0.21;  // seconds: Table III's baselines, YF3 and YF7

struct Part {  // of Table III
  const char *id, *name;
  EngineKind engine;
  bool text;
  double seconds, gain;
};
inline constexpr std::array kTable3{
    Part{"YF4", "+ scheduling", EngineKind::scheduling, false, 1.17, 1.26},
    Part{"YF5", "+ prefetching", EngineKind::prefetching, false, 1.39, 1.06},
    Part{"YF6", "all", EngineKind::hybrimoe, false, 1.13, 1.31},
    Part{"YF8", "+ scheduling", EngineKind::scheduling, true, 0.14, 1.46},
    Part{"YF9", "+ prefetching", EngineKind::prefetching, true, 0.18, 1.15},
    Part{"YF10", "+ caching", EngineKind::caching, true, 0.15, 1.38},
    Part{"YF11", "all", EngineKind::hybrimoe, true, 0.11, 1.86},
};

struct CacheHits {  // Fig. 9
  const char* id;
  Mixture model;
  double lru, mrs;
};
inline constexpr std::array kHitsAtQuarter{CacheHits{"YF12", Mixture::mixtral, 0.302, 0.362},
                                           CacheHits{"YF13", Mixture::deepseek, 0.477, 0.527},
                                           CacheHits{"YF14", Mixture::qwen2, 0.450, 0.528}};
inline constexpr CacheHits kHitsAtThreeQuarters{"YF15", Mixture::mixtral, 0.806, 0.833};

}  // namespace tandem::paper_hybrimoe
