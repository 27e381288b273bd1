#include "engine/device/operators/region.h"

namespace tandem {
namespace {

bool is_empty(const Region& region) { return !region.at || region.rows == 0 || region.width_bytes == 0; }

}  // namespace

// The last row ends with its width, not with its pitch.
size_t end_of(const Region& region) {
  return region.at.offset_bytes + static_cast<size_t>(region.rows - 1) * region.pitch_bytes + region.width_bytes;
}

// Compares the whole byte ranges first. Then two column ranges of one matrix (same pitch) are compared by columns;
// everything else that interleaves counts as overlapping.
bool overlaps(const Region& a, const Region& b) {
  if (is_empty(a) || is_empty(b) || a.at.slot != b.at.slot) return false;
  if (end_of(a) <= b.at.offset_bytes || end_of(b) <= a.at.offset_bytes) return false;
  // Two column ranges of one matrix have the same pitch and disjoint columns.
  const bool strided = (a.rows > 1 || b.rows > 1);
  const size_t pitch = a.rows > 1 ? a.pitch_bytes : b.pitch_bytes;
  const bool same_pitch = (a.rows == 1 || a.pitch_bytes == pitch) && (b.rows == 1 || b.pitch_bytes == pitch);
  if (!strided || !same_pitch || pitch == 0) return true;
  const size_t a_column = a.at.offset_bytes % pitch, b_column = b.at.offset_bytes % pitch;
  const bool wraps = a_column + a.width_bytes > pitch || b_column + b.width_bytes > pitch;
  if (wraps) return true;
  return a_column < b_column + b.width_bytes && b_column < a_column + a.width_bytes;
}

// The byte range of `inner` must lie in that of `outer`. If `outer` has gaps, `inner` must also lie in its columns.
bool covers(const Region& outer, const Region& inner) {
  if (is_empty(outer) || is_empty(inner) || outer.at.slot != inner.at.slot) return false;
  const size_t first = outer.at.offset_bytes, begin = inner.at.offset_bytes;
  if (begin < first || end_of(inner) > end_of(outer)) return false;
  if (outer.rows == 1 || outer.width_bytes >= outer.pitch_bytes) return true;  // one run without gaps
  const size_t column = (begin - first) % outer.pitch_bytes;
  const bool same_rows = inner.rows == 1 || inner.pitch_bytes == outer.pitch_bytes;
  return same_rows && column + inner.width_bytes <= outer.width_bytes;
}

}  // namespace tandem
