// A place an operator touches: `rows` runs of width_bytes, pitch_bytes apart (rows = 1: one run).
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/tensor/operand.h"

namespace tandem {

struct Region {
  Operand at;
  int64_t rows = 1;
  size_t width_bytes = 0, pitch_bytes = 0;
};

// Offset in its slot behind the last byte.
size_t end_of(const Region& region);
// True when writing `a` could touch bytes of `b`: column ranges of one matrix are told apart; other rows that lie
// between each other are taken to overlap.
bool overlaps(const Region& a, const Region& b);
// True when every byte of `inner` is one of `outer`'s. False where rows of another pitch would have to be compared one
// by one, though they may be.
bool covers(const Region& outer, const Region& inner);

}  // namespace tandem
