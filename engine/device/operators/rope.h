// The operator Rope: rotary position embedding of q or k, in place.
#pragma once

#include "engine/device/operators/view.h"

namespace tandem {

enum class RopeLayout : uint8_t {
  interleaved,  // pairs (2i, 2i+1)      "norm" in the field
  halves,       // pairs (i, i + rot/2)  "neox"
};

// Rotates the first rot_dim values of each of `heads` heads of x (q or k) in place. The table holds cos and sin for
// each position and includes frequency factors and scaling (engine/model/rope.h): [positions, rot_dim/2, 2] f32.
struct Rope {
  int64_t S = 0, heads = 0, head_dim = 0, rot_dim = 0;
  RopeLayout layout = RopeLayout::halves;
  Operand x;  // [S, heads, head_dim], or only its rotated part; stride x_stride
  int64_t x_stride = 0;
  Operand positions;  // int32 [S]
  Operand table;
  int64_t table_positions = 0;

  bool operator==(const Rope&) const = default;
  const char* kind() const { return "rope"; }
  Features features() const { return {Feature::rotation}; }
  double flops() const { return 3.0 * S * heads * rot_dim; }
  template <typename Self>
  static auto views(Self& op) {
    const int64_t width = (op.heads - 1) * op.head_dim + op.rot_dim;  // up to the last rotated value
    const double turned = 2.0 * op.S * op.heads * op.rot_dim, looked_up = 1.0 * op.S * op.rot_dim;
    return std::array{
        rows_of(op.x, Use::update, op.S, width, op.x_stride).moving(turned, turned * sizeof(float)),
        ids_of(op.positions, Use::read, op.S),
        constants_of(op.table, op.table_positions * op.rot_dim).moving(looked_up, looked_up * sizeof(float))};
  }
};

}  // namespace tandem
