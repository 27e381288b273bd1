// The operator Embed: looks up the decoded rows of a table by token ids.
#pragma once

#include "engine/device/operators/view.h"

namespace tandem {

// y[s, :] = scale * w[ids[s], :] decoded.
struct Embed {
  int64_t S = 0, H = 0;
  PackedMatrix w;  // [vocabulary, H]
  Operand ids;     // int32 [S]
  Operand y;       // [S, H], dense
  float scale = 1;

  bool operator==(const Embed&) const = default;
  const char* kind() const { return "embed"; }
  Features features() const {
    Features all{Feature::gather};
    if (scale != 1) all.add(Feature::scaled_embedding);
    return all;
  }
  double flops() const { return 0; }
  template <typename Self>
  static auto views(Self& op) {
    const double row_bytes = static_cast<double>(panel_bytes(op.w.format, op.w.columns)) / kPanelRows;
    const double values = static_cast<double>(op.S * op.w.columns);
    return std::array{panels_of(op.w.data, op.w, 0, op.w.rows).moving(values, static_cast<double>(op.S) * row_bytes),
                      ids_of(op.ids, Use::read, op.S), rows_of(op.y, Use::write, op.S, op.H, op.H)};
  }
};

}  // namespace tandem
