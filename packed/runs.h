// The runs of a product's columns, which give every sum its order (docs/numbers.md).
//
// Idea: a graphics card needs many units at work on one output, so one chain of multiply-adds over all columns is too
// long for it. The columns are cut into tiles of 64 and the tiles into 16 runs. A run is one ascending chain from zero,
// and the runs are added in ascending order. The result does not depend on who computes which run.
// Contract: pure functions, and run p of T tiles is tiles [T p / 16, T (p + 1) / 16).
#pragma once

#include <cstdint>

namespace tandem {

inline constexpr int64_t kColumnRuns = 16;
inline constexpr int64_t kRunTileColumns = 64;  // two groups of 32, and the depth of the NPU's default array

// Walks over the runs that have columns, in ascending order. Empty runs add nothing to a sum. Its functions are always
// inlined: some of its users are compiled for instructions that the machine may lack (packed/loops/act_loops.h).
class ColumnRun {
 public:
  // At the first run of `columns` columns; columns > 0.
  [[gnu::always_inline]] explicit ColumnRun(int64_t columns)
      : columns_(columns), tiles_((columns + kRunTileColumns - 1) / kRunTileColumns), end_(end_of(0)) {}

  [[gnu::always_inline]] bool is_valid() const { return begin_ < tiles_; }
  [[gnu::always_inline]] bool is_first() const { return begin_ == 0; }
  [[gnu::always_inline]] bool is_last() const { return end_ == tiles_; }
  [[gnu::always_inline]] int64_t first_tile() const { return begin_; }  // of 64 columns
  [[gnu::always_inline]] int64_t end_tile() const { return end_; }
  [[gnu::always_inline]] int64_t first_column() const { return begin_ * kRunTileColumns; }
  [[gnu::always_inline]] int64_t end_column() const { return is_last() ? columns_ : end_ * kRunTileColumns; }
  [[gnu::always_inline]] void next() {
    begin_ = end_;
    end_ = end_of(++index_);
  }

 private:
  // No two of 16 tiles or fewer lie in one run. Then the run with this index, empty ones left out, is one tile.
  [[gnu::always_inline]] int64_t end_of(int64_t index) const {
    return tiles_ <= kColumnRuns ? index + 1 : tiles_ * (index + 1) / kColumnRuns;
  }

  int64_t columns_, tiles_, index_ = 0, begin_ = 0, end_;
};

}  // namespace tandem
