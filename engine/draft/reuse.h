// S5: a rejected draft is often right further on, after a word more or a word less. Its longest right run is offered
// again in later steps.
//
// Words: x is the draft, y are the model's choices: y[i] is the choice where x[i] stands, and one more behind the
// draft. e is the first place with x[e] != y[e]. Places in this file count from 0, those of the paper from 1.
//
// Contract: pure functions, and ReusedRuns, which is used by one thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace tandem {

struct DraftRun {
  int64_t begin = 0, length = 0;  // length 0: there is none
};

// The result of a pass with a chain of drafts.
struct ChainVerdict {
  int64_t accepted = 0;  // drafts before e
  int32_t next = 0;      // the model's choice behind them
  DraftRun run;          // R1, Eq. 3: the longest stretch behind e with x[i] = y[i], of equals the first
};
// choices: one more than drafts.
ChainVerdict judge_chain(std::span<const int32_t> draft, std::span<const int32_t> choices);

// R2, Table 2: why a draft was rejected, judged by what the text became.
enum class Rejection {
  none,       // all was accepted
  missing,    // the model wrote some tokens more, and then went on with x[e]
  synonym,    // the model wrote other tokens in place of some of x, and then went on with the rest
  redundant,  // the model never wrote what the draft had
};
const char* to_string(Rejection rejection);

struct RejectionCause {
  Rejection rejection = Rejection::none;
  DraftRun segment;      // of the draft, that the text has too; its begin is e + g
  int64_t inserted = 0;  // d: the text has it from e + d on
};
inline constexpr int64_t kMostInserted = 8, kFewestCommon = 2;
// text: what stands in the text where the draft was, from its first token on. accepted: e.
RejectionCause rejection_cause(std::span<const int32_t> draft, std::span<const int32_t> text, int64_t accepted);

// R3: runs that later steps offer. A run is offered in the kRunSteps steps behind that in which it was found. If fresh
// drafts and runs have more tokens than the limit, the oldest runs go, but none in its first step.
class ReusedRuns {
 public:
  static constexpr int64_t kRunSteps = 8, kLimit = 32;
  struct Run {
    int64_t found = 0;  // the step
    std::vector<int32_t> tokens;
  };
  explicit ReusedRuns(int64_t limit = kLimit) : limit_(limit) {}

  // Begins the next step, which has so many fresh drafts. Runs whose time is over are gone.
  void begin_step(int64_t fresh_drafts);
  const std::deque<Run>& runs() const { return runs_; }  // offered in this step, the oldest first
  void add(std::vector<int32_t> tokens);                 // a run that this step found; no tokens: none

 private:
  const int64_t limit_;
  int64_t step_ = -1;
  std::deque<Run> runs_;
};

}  // namespace tandem
