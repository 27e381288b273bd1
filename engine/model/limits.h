// Upper bounds of a model's dimensions, far above any published model. They keep products of two dimensions inside 64
// bits. They also refuse a damaged file before memory is allocated for it.
#pragma once

#include <cstdint>

namespace tandem {

inline constexpr int64_t kMaxLayers = 4096;
inline constexpr int64_t kMaxWidth = int64_t{1} << 20;
inline constexpr int64_t kMaxVocabulary = int64_t{1} << 24;
inline constexpr int64_t kMaxContext = int64_t{1} << 30;

}  // namespace tandem
