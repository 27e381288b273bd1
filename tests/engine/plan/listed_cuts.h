// Lists all cuts of a run, which are otherwise made one at a time.
#pragma once

#include <vector>

#include "engine/plan/partition/token_layout.h"

namespace tandem::testing {

inline std::vector<Cut> listed(const RowCuts& run) {
  std::vector<Cut> cuts;
  for (size_t i = 0; i < run.size(); ++i) cuts.push_back(run[i]);
  return cuts;
}
inline std::vector<Cut> listed(const std::vector<RowCuts>& runs) {
  std::vector<Cut> cuts;
  for (const RowCuts& run : runs)
    for (const Cut& cut : listed(run)) cuts.push_back(cut);
  return cuts;
}

}  // namespace tandem::testing
