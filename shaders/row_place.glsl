// The places of weights in panel order, or in pieces of rows if ROW_PIECES is set (engine/device/gpu/row_pieces.h). Other
// shaders include this file; it is never built alone.
layout(constant_id = 13) const int ROW_PIECES = 0;

// The byte of a 4-bit code and of an 8-bit code, counted from the first code of their tile.
uint nibble_byte(uint column, uint r) {
  return ROW_PIECES != 0 ? r * 16u + column / 2u : column / 2u * 64u + r % 16u * 4u + r / 16u;
}
uint code_byte(uint column, uint r) {
  const uint in_piece = (column / 8u % 2u * 2u + column % 2u) * 4u + column % 8u / 2u;
  return ROW_PIECES != 0 ? column / 16u * 1024u + r * 16u + in_piece : column * 64u + r;
}

// The index of column k of row r in a dense panel. columns: of a piece.
uint element_index(uint k, uint r, uint columns) {
  return ROW_PIECES != 0 ? (k / columns * 64u + r) * columns + k % columns : k * 64u + r;
}
