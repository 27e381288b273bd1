// Finds the place of a position of a segment; kernels/segments.cl has the same rule.
// paths int32 [segments, 1 + depth], read only if TREES is 1. A row begins at element `row`. It is a position, then the
// places of the positions from there on. Before that position, places are positions.
#define PLACE_OF(position, row) \
  (TREES == 0 || (position) < paths[row] ? (position) : paths[(row) + 1u + uint((position) - paths[row])])
