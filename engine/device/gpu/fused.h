// Fused launches: one launch that does the work of several operators which follow each other in a program. On a card, a
// launch that waits for another one takes a few microseconds, which is as long as the work of one token.
//
// Contract: a fused launch writes everything that its operators write, with the same bits. So a program may be fused
//   without knowing its readers. Only simt kernels are fused, for up to kSmallBatch tokens.
//   Pure functions and plain values.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "engine/device/gpu/lower.h"

namespace tandem::gpu {

// Operators [begin, end) of a program, and the launches that compute all of them.
struct LoweredRun {
  size_t begin = 0, end = 0;
  std::vector<KernelLaunch> launches;
};

// All operators of a program in their order, each alone or fused with those behind it. Launches with empty grids are
// left out. Error as lower().
std::vector<LoweredRun> lower_program(std::span<const Operator> operators, const LoweringContext& context);

// The first operators of a program that is left, as a run that begins at 0: the first one alone, or fused.
LoweredRun lower_first(std::span<const Operator> rest, const LoweringContext& context);

// A fusion looks at the operators that are left of a program. If it computes the first of them, it returns a run that
// begins at 0. Each is in its own fuse_<what>.cpp.
std::optional<LoweredRun> fuse_rope_append(std::span<const Operator> rest, const LoweringContext& context);
std::optional<LoweredRun> fuse_codes(std::span<const Operator> rest, const LoweringContext& context);
std::optional<LoweredRun> fuse_product_end(std::span<const Operator> rest, const LoweringContext& context);

}  // namespace tandem::gpu
