// S1: which blocks of a model change from the prefill graph to the decode graph during a prompt's last chunks. The
// loads of the decode graphs then cost no time behind them.
//
// P1: the processor runs the blocks of chunk after chunk in order, without a gap. One loader takes the blocks from the
// last one on. A block that was switched runs its decode graph.
// P2: a round begins where an execution is about to. j is the last block that was not switched. k* is the least k >= 1
// whose next k executions take at least the time to load j (Eq. 2). Each of them runs its present graph. j is switched
// when the last of them ends. If j is reached before, it runs its prefill graph.
// P3: if too few executions are left, they run. The rest of this load and all others follow the prefill.
// P4: rounds begin with the chunk that gives the least end, of equals with the latest.
// P5: the baselines. P6: the best of the three ways is taken.
//
// Contract: pure functions of whole times in any unit. Blocks and chunks count from 0.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tandem {

struct GraphSwitchTimes {
  int64_t chunks = 0;
  // Of each block. prefill and decode: one chunk on either graph, with all repetitions that the decode graph needs.
  std::vector<int64_t> prefill, decode, load;

  int64_t blocks() const { return static_cast<int64_t>(prefill.size()); }
};

enum class SwitchWay { progressive, synchronous, asynchronous };
const char* to_string(SwitchWay way);

struct SwitchRound {
  int64_t chunk = 0;       // in which it begins
  int64_t block = 0;       // j
  int64_t executions = 0;  // k*
};

struct SwitchSchedule {
  int64_t first_chunk = 0;  // P4: rounds begin with it
  std::vector<SwitchRound> rounds;
  std::vector<int64_t> switched;  // blocks that are switched at the end of each chunk
  int64_t prefill_end = 0;
  int64_t switch_end = 0;  // when the last block is switched
  int64_t end() const { return prefill_end > switch_end ? prefill_end : switch_end; }
};

// P2, P3: rounds from the beginning of this chunk on.
SwitchSchedule switch_rounds(const GraphSwitchTimes& times, int64_t first_chunk);
SwitchSchedule progressive_schedule(const GraphSwitchTimes& times);  // P4
// P5: all loads behind the prefill; or each block's load from the end of its execution in the last chunk on.
int64_t synchronous_end(const GraphSwitchTimes& times);
int64_t asynchronous_end(const GraphSwitchTimes& times);
// P6: of equally good ways the first one of the enumeration.
SwitchWay best_way(const GraphSwitchTimes& times, const SwitchSchedule& progressive);

// Asked before each chunk, with the chunks that are left: the way whose loads begin with this chunk; nothing: none
// does. Progressive loads begin as P4 says, and other ways in the last chunk. asked: the only way that counts; nothing:
// the best one (P6). Far from the end nothing begins, even if decode graphs are faster.
std::optional<SwitchWay> way_that_begins(const GraphSwitchTimes& times, std::optional<SwitchWay> asked = {});

}  // namespace tandem
