// The names of poolings that give a vector, as flags, shapes and libraries have them. Threads: any.
#pragma once

#include <utility>

#include "tandem/types.h"

namespace tandem {

inline constexpr std::pair<const char*, Pooling> kPoolingNames[] = {
    {"mean", Pooling::mean}, {"cls", Pooling::cls}, {"last", Pooling::last}};

}  // namespace tandem
