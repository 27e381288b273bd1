// H9: finds the cut of one matmul with the least predicted time T.
//
//   T = min( max(T_gpu(p1), T_npu(p2)) + T_sync + T_copy,
//            T_gpu(all),
//            T_npu(all) + T_sync + T_copy )
//
// The first line stands for all cuts of H2 to H6, with both sides at work at the same time. In the last line the NPU
// runs one graph or several (H12). Graphs of one side run in turn, so their times add up. Cuts of rows keep to
// row_step, cuts of tokens to token_step.
//
// Contract: pure functions. The result is never worse than pricing every candidate, as long as a side takes no
// longer for fewer rows of the same tokens. If the times that the solver meets break that rule, it prices every cut
// of that layout.
//
// Source: HeteroLLM 4.3.
#pragma once

#include <string>
#include <vector>

#include "engine/plan/partition/cut.h"

namespace tandem {

struct Priced {
  Cut cut;
  double seconds = 0;                       // T
  double gpu_seconds = 0, npu_seconds = 0;  // all parts of each side
};

struct Decision {
  Priced chosen;
  std::vector<Priced> best_of_each_kind;  // in the order of CutKind
  std::string why;                        // one sentence with the times
};

Priced price(const Cut& cut, const CutCosts& costs);

// Error if neither side can run the matmul (all times are infinite).
Decision solve(int64_t S, int64_t N, const CutLimits& limits, const CutCosts& costs);

}  // namespace tandem
