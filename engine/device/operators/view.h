// Views: the list of an operator's operands, with one View for each of them.
//
// Every general question about an operator is answered from its list (engine/device/operator.h). Such questions are its
// reads and writes, its slices of tokens, its bytes, and whether it stays inside its slots.
//
// Place is Operand or const Operand. A list made from a mutable operator can change its operands.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/device/operators/feature.h"
#include "engine/tensor/operand.h"
#include "engine/tensor/packed.h"

namespace tandem {

enum class Use : uint8_t { read = 1, write = 2, update = 3 };  // update: read, and written in place

// The kind of data in an operand. It decides how the bytes are counted, because a chip's profile says how wide weights
// and activations are on that chip.
enum class Role : uint8_t {
  activation,  // f32 values that operators of this pass make
  ids,         // int32: token ids and positions
  weights,     // packed
  constants,   // f32: norms, biases, the rotation's table
  cache,       // keys and values of all positions
  scratch,     // values that an operator keeps between its own kernels
};

template <typename Place>
struct View {
  Place* place = nullptr;
  Use use = Use::read;
  Role role = Role::activation;
  // The region: `rows` runs of width_bytes, pitch_bytes apart. The first run begins skip_bytes behind the place.
  int64_t rows = 0;
  size_t width_bytes = 0, pitch_bytes = 0, skip_bytes = 0;
  size_t token_bytes = 0;  // distance from one token to the next; 0: all tokens share the operand
  // The bytes and values that are moved, once for a read and once for a write. They may be less than the region: unseen
  // positions and rows that are not looked up do not count.
  double moved_bytes = 0, moved_values = 0;
  bool is_there = true;  // false: this operator does not have the operand

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

// int32 [count], shared by all tokens.
template <typename Place>
View<Place> ids_of_all(Place& place, int64_t count) {
  const auto bytes = static_cast<size_t>(count) * sizeof(int32_t);
  return {&place, Use::read, Role::ids, 1, bytes, bytes, 0, 0, static_cast<double>(bytes), static_cast<double>(count)};
}

// One run of bytes, shared by all tokens.
template <typename Place>
View<Place> whole(Place& place, Use use, Role role, size_t bytes) {
  const double moved = static_cast<double>(bytes) * (use == Use::update ? 2 : 1);
  return {&place, use, role, 1, bytes, bytes, 0, 0, moved, moved / sizeof(float)};
}

// f32 [count], shared by all tokens.
template <typename Place>
View<Place> constants_of(Place& place, int64_t count) {
  return whole(place, Use::read, Role::constants, bytes_of_floats(count));
}

// The whole panels with rows [begin, end) of a packed matrix [N, K].
template <typename Place>
View<Place> panels_of(Place& place, const PackedMatrix& matrix, int64_t begin, int64_t end) {
  const size_t skip = packed_bytes(matrix.format, begin, matrix.columns);
  const size_t bytes = packed_bytes(matrix.format, end, matrix.columns) - skip;
  const double values = static_cast<double>((end - begin) * matrix.columns);
  return {&place, Use::read, Role::weights, 1, bytes, bytes, skip, 0, static_cast<double>(bytes), values};
}

}  // namespace tandem
