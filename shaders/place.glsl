// Where a position of a segment lies, as kernels/segments.cl says it too.
// paths int32 [segments, 1 + depth], read where TREES is 1 alone: a row, which begins at element `row`, is a position and the places of the
// positions from there on; below it places are positions.
#define PLACE_OF(position, row) \
  (TREES == 0 || (position) < paths[row] ? (position) : paths[(row) + 1u + uint((position) - paths[row])])
