// The fast functional path of the array: y[s, n] is the sum of w[n, k] * half(x[s, k]) in the runs of packed/runs.h.
// The host uses the same loops over packed weights (packed/loops/matmul.h).
//
// Contract
//   Numbers: equal to the stepped simulation bit for bit, for every token count, slice and thread count. The order of
//   an output's sums depends on nothing but the number of columns. Only rows [row_begin, row_end) of y are written.
//   row_begin is a multiple of 64.
//   Ownership: borrows all memory of the call. The AlignedFloats belong to the caller, who reuses them between calls,
//   one set per command in flight.
//   Threads: one thread calls prepare_activations() first. Then any thread calls multiply() for each part = 0
//   .. parts-1.
#pragma once

#include <cstddef>
#include <cstdint>

#include "packed/loops/aligned.h"
#include "packed/loops/loops.h"

namespace tandem::npu_emu {

struct MatmulCall {
  int64_t tokens = 0, columns = 0;     // S, K
  int64_t row_begin = 0, row_end = 0;  // rows of W, columns of y
  PackedFormat format{PackedKind::f16};
  const std::byte* panels = nullptr;  // panel 0 of W
  const float* x = nullptr;           // [S, K], stride x_stride
  int64_t x_stride = 0;
  float* y = nullptr;  // [S, N] column 0, stride y_stride
  int64_t y_stride = 0;
  bool act_i8 = false;  // the array's INT8 mode: 8-bit codes of x, exact sums of a group (packed/act_i8.h)
};

// A growing array of floats at a cache line.
class AlignedFloats {
 public:
  float* reserve(int64_t count);
  float* data() const { return data_.get(); }

 private:
  AlignedArray<float> data_;
  int64_t capacity_ = 0;
};

class FastMatmul {
 public:
  explicit FastMatmul(const PackedLoops& loops = best_packed_loops()) : loops_(loops) {}

  // Rounds the activations to f16, or quantises them, and lays them out as the array's input buffers read them.
  void prepare_activations(const MatmulCall& call, AlignedFloats& activations) const;
  // Whether both calls read activations in the same layout, which depends on the weights' format.
  bool same_layout(const MatmulCall& a, const MatmulCall& b) const { return reads_rows(a) == reads_rows(b); }
  // Computes the panels of one part; `sums` is this thread's own scratch.
  void multiply(const MatmulCall& call, const AlignedFloats& activations, AlignedFloats& sums, int part,
                int parts) const;

 private:
  // Whether the activations lie row by row, for loops that read few tokens beside packed weights. Otherwise they lie in
  // slices of columns.
  bool reads_rows(const MatmulCall& call) const {
    return !call.act_i8 && call.tokens <= loops_.exact->gemv_tokens(call.format);
  }
  PackedLoops loops_;
};

// Runs the whole product on one thread.
void fast_matmul(const MatmulCall& call, const PackedLoops& loops = best_packed_loops());

}  // namespace tandem::npu_emu
