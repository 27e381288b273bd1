// Worked examples of the paper, computed by the engine's own code.
#pragma once

#include <cstdint>

#include "engine/draft/reuse.h"
#include "engine/plan/graph_switch.h"

namespace tandem::paper_sdnpu {

// SF15, Fig. 8: six equal blocks, two chunks, and a load that takes as long as two blocks.
SwitchSchedule schedule_of_fig8();

// SF14, Table 2: how many of 13 rejected drafts are of this class. The paper labelled them by hand and prints no texts,
// so each draft here stands for one of them.
int64_t drafts_of_table2(Rejection rejection);
inline constexpr int64_t kDraftsOfTable2 = 13;

}  // namespace tandem::paper_sdnpu
