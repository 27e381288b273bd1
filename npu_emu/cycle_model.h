// Counts the cycles of a product on the array: weight load, skew, streaming and drain, fold after fold.
//
// One fold on R x C cells with T streamed elements (T = M, K, N for ws, os, is):
//   ws, is   load    R      a row of the stationary tile enters at the top each cycle and moves down.
//            stream  T      the first array row sees one new element a cycle.
//            skew    R - 1  array row r sees it r cycles later.
//            drain   C - 1  the last column sees it C - 1 cycles after the first; its sum is the last to leave.
//   os       stream  K, skew R - 1, drain C - 1. When a sum's last product is added, a latch beside the cell takes the
//            sum. It leaves while the next fold streams (rule "shadow drain"), so the transfer costs no cycles.
//   Sums go to accumulators beside the array as they pass the end of a run of columns (packed/runs.h). This takes no
//   cycles, because the waves move on as they would without it (rule "runs end in passing").
//   A fold always takes the time of the whole array, even if the tile fills only a part of it (rule "whole array").
//   Folds do not overlap (rule "serial folds").
//   The total is the index, counted from 0, of the cycle in which the last sum is complete: folds * fold_cycles - 1
//   (rule "last index"). The array is not done after cycle total - 1, and done after cycle total.
// These are the rules of SCALE-Sim 3.0.0 with memory that never stalls; docs/npu.md derives them.
#pragma once

#include <cstdint>

#include "npu_emu/array.h"

namespace tandem::npu_emu {

struct CycleCount {
  int64_t folds = 0;
  int64_t load = 0, stream = 0, skew = 0, drain = 0;  // cycles of one fold
  int64_t cycles = 0;                                 // total, rule "last index"
  double utilization = 0;          // useful multiply-adds / (cells * cycles), 0..1: "overall utilisation"
  double mapping_efficiency = 0;   // cells that hold useful values, averaged over the folds, 0..1
  double compute_utilization = 0;  // utilization within one fold's window, see docs/npu.md

  int64_t fold_cycles() const { return load + stream + skew + drain; }
};

CycleCount count_cycles(const ArrayShape& array, Dataflow dataflow, const ProductShape& product);

}  // namespace tandem::npu_emu
