// The operator Copy: copies groups of values of every row, and may round them.
#pragma once

#include "engine/device/operators/view.h"

namespace tandem {

// y[s, g, :] = x[s, g, :], rounded to f16 if round_f16. Every row has `groups` groups of `width` values. The groups
// begin x_group elements apart in x and y_group apart in y. y may be x.
struct Copy {
  int64_t S = 0, groups = 1, width = 0;
  Operand x, y;
  int64_t x_stride = 0, x_group = 0, y_stride = 0, y_group = 0;
  bool round_f16 = false;

  bool operator==(const Copy&) const = default;
  const char* kind() const { return "copy"; }
  Features features() const { return {Feature::copy}; }
  double flops() const { return 0; }
  // With several groups, the write covers the values between them too: `update`, because these keep their values.
  template <typename Self>
  static auto views(Self& op) {
    const double moved = static_cast<double>(op.S * op.groups * op.width);
    const Use use = op.groups == 1 ? Use::write : Use::update;
    return std::array{rows_of(op.x, Use::read, op.S, (op.groups - 1) * op.x_group + op.width, op.x_stride)
                          .moving(moved, moved * sizeof(float)),
                      rows_of(op.y, use, op.S, (op.groups - 1) * op.y_group + op.width, op.y_stride)
                          .moving(moved, moved * sizeof(float))};
  }
};

}  // namespace tandem
