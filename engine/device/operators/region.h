// A region: the memory that an operator touches in one operand. It has `rows` runs of width_bytes, pitch_bytes apart;
// with rows = 1 it is one run.
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

// Offset in its slot of the byte behind the last one.
size_t end_of(const Region& region);
// True when writing `a` could touch bytes of `b`. Column ranges of one matrix are compared by their columns. Other
// regions whose rows interleave count as overlapping.
bool overlaps(const Region& a, const Region& b);
// True when every byte of `inner` is also a byte of `outer`. False for rows with another pitch, even if `outer` covers
// them: they would have to be compared one by one.
bool covers(const Region& outer, const Region& inner);

}  // namespace tandem
