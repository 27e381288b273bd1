// How an operator says what it touches: one View for each of its operands, in one list. All that is asked of any
// operator follows from these lists (engine/device/operator.h): what it reads and writes, its slices of tokens, its
// bytes, and whether it stays inside its slots.
//
// Place is Operand or const Operand: a list made of an operator that may change can move its operands.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/device/operators/feature.h"
#include "engine/tensor/operand.h"
#include "engine/tensor/packed.h"

namespace tandem {

enum class Use : uint8_t { read = 1, write = 2, update = 3 };  // update: read, and written in its place

// What lies there decides who counts it: a chip's profile says how wide weights and activations are on that chip.
enum class Role : uint8_t {
  activation,  // f32 values that operators of this pass make
  ids,         // int32: token ids and positions
  weights,     // packed
  constants,   // f32: norms, biases, the rotation's table
  cache,       // keys and values of all positions
  scratch,     // what an operator keeps between its own kernels
};

template <typename Place>
struct View {
  Place* place = nullptr;
  Use use = Use::read;
  Role role = Role::activation;
  // The region: `rows` runs of width_bytes, pitch_bytes apart, the first of them skip_bytes behind the place.
  int64_t rows = 0;
  size_t width_bytes = 0, pitch_bytes = 0, skip_bytes = 0;
  size_t token_bytes = 0;  // from one token to the next; 0: all tokens share it
  // What is moved once to read and once to write it, which may be less than the region: positions that are not seen,
  // rows of a table that are not looked up.
  double moved_bytes = 0, moved_values = 0;
  bool is_there = true;  // false: this operator has none

  View moving(double values, double bytes) && {
    moved_values = values, moved_bytes = bytes;
    return *this;
  }
  View only_if(bool there) && {
    is_there = there;
    return *this;
  }
};

inline size_t bytes_of_floats(int64_t count) { return static_cast<size_t>(count) * sizeof(float); }

// f32 [S, width], `stride` elements from row to row.
template <typename Place>
View<Place> rows_of(Place& place, Use use, int64_t S, int64_t width, int64_t stride, int64_t first_column = 0) {
  const double values = static_cast<double>(S * width) * (use == Use::update ? 2 : 1);
  return {&place,
          use,
          Role::activation,
          S,
          bytes_of_floats(width),
          bytes_of_floats(stride),
          bytes_of_floats(first_column),
          bytes_of_floats(stride),
          values * sizeof(float),
          values};
}

// int32 [S, each].
template <typename Place>
View<Place> ids_of(Place& place, Use use, int64_t S, int64_t each = 1) {
  const size_t bytes = static_cast<size_t>(S * each) * sizeof(int32_t);
  return {&place,
          use,
          Role::ids,
          1,
          bytes,
          bytes,
          0,
          static_cast<size_t>(each) * sizeof(int32_t),
          static_cast<double>(bytes),
          static_cast<double>(S * each)};
}

// int32 [count] that all tokens share.
template <typename Place>
View<Place> ids_of_all(Place& place, int64_t count) {
  const auto bytes = static_cast<size_t>(count) * sizeof(int32_t);
  return {&place, Use::read, Role::ids, 1, bytes, bytes, 0, 0, static_cast<double>(bytes), static_cast<double>(count)};
}

// One run of bytes that all tokens share.
template <typename Place>
View<Place> whole(Place& place, Use use, Role role, size_t bytes) {
  const double moved = static_cast<double>(bytes) * (use == Use::update ? 2 : 1);
  return {&place, use, role, 1, bytes, bytes, 0, 0, moved, moved / sizeof(float)};
}

// f32 [count], the same for all tokens.
template <typename Place>
View<Place> constants_of(Place& place, int64_t count) {
  return whole(place, Use::read, Role::constants, bytes_of_floats(count));
}

// Whole panels of a packed matrix [N, K]: those of its rows [begin, end).
template <typename Place>
View<Place> panels_of(Place& place, const PackedMatrix& matrix, int64_t begin, int64_t end) {
  const size_t skip = packed_bytes(matrix.format, begin, matrix.columns);
  const size_t bytes = packed_bytes(matrix.format, end, matrix.columns) - skip;
  const double values = static_cast<double>((end - begin) * matrix.columns);
  return {&place, Use::read, Role::weights, 1, bytes, bytes, skip, 0, static_cast<double>(bytes), values};
}

}  // namespace tandem
