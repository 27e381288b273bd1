// Build options that select a kernel's variant for a packed format.
#pragma once

#include <string>

#include "engine/tensor/packed.h"

namespace tandem::gpu {

// "-DGROUP=32 -DSUPER=0 -DMIN_KIND=1 -DZERO_POINT=8" for i4 and i8, "-DELEMENT=1" (0 f32, 1 f16, 2 bf16) for dense.
std::string packed_options(const PackedFormat& format);

}  // namespace tandem::gpu
