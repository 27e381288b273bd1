// The states of single rules, made deterministic as they are met.
//
// A local state is a set of the net's states that one frame of the stack may be in. Reading a byte leads to one other
// local state. Sets are made when a text first needs them, so a rule whose full table would be huge costs only what
// texts visit (lazy subset construction).
//
// Contract: numbers stay valid as long as the object. Not thread-safe. Error: more sets than kMostLocalStates.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/constraint/automaton/intern_table.h"
#include "engine/constraint/automaton/trimming.h"

namespace tandem::constraint {

using LocalId = int32_t;

inline constexpr int64_t kMostLocalStates = 500'000;

class LocalStates {
 public:
  explicit LocalStates(TrimmedNet net);
  LocalStates(const LocalStates&) = delete;
  LocalStates& operator=(const LocalStates&) = delete;

  struct Segment {  // these bytes lead to that state
    uint8_t low, high;
    LocalId to;
  };
  struct Call {
    RuleId rule;
    LocalId to;    // where the rule returns to
    bool is_tail;  // nothing follows there: the rule returns to the caller's own caller
  };
  LocalId start(RuleId rule);
  LocalId joined(LocalId a, LocalId b);              // the union of both sets
  std::span<const Segment> segments(LocalId local);  // sorted, without overlaps
  std::span<const Call> calls(LocalId local);
  bool is_end(LocalId local) const { return at(local).is_end; }  // of its rule
  bool reads(LocalId local) const { return at(local).reads; }    // a byte may follow in the same frame
  int32_t rank(RuleId rule) const { return net_.ranks[static_cast<size_t>(rule)]; }
  bool is_usable(uint8_t byte) const { return net_.usable[byte]; }  // by any text
  int64_t rules() const { return static_cast<int64_t>(net_.starts.size()); }

 private:
  struct Local {
    std::vector<StateId> members;  // sorted; only those that read, call or end
    bool is_end = false, reads = false, has_segments = false, has_calls = false;
    std::vector<Segment> segments;
    std::vector<Call> calls;
  };
  Local& at(LocalId local) { return locals_[static_cast<size_t>(local)]; }
  const Local& at(LocalId local) const { return locals_[static_cast<size_t>(local)]; }
  LocalId closed(std::span<const StateId> seeds);
  LocalId intern(std::vector<StateId> members);
  bool matters(StateId state) const;
  void make_segments(LocalId local);
  void make_calls(LocalId local);

  const TrimmedNet net_;
  std::deque<Local> locals_;
  InternTable table_;
  std::unordered_map<uint64_t, LocalId> joined_;
  std::vector<LocalId> starts_;
  // Scratch of closed(): the round in which a state was seen.
  std::vector<uint32_t> seen_;
  uint32_t round_ = 0;
  std::vector<StateId> work_;
};

}  // namespace tandem::constraint
