// All the stacks that a text so far may have: the states of the pushdown automaton.
//
// A stack is a list of local states: where the innermost rule stands, and where each caller goes on. Several stacks
// share their lower parts as a graph of nodes (Tomita's graph-structured stack). A node is the set of returns of one
// frame. Nodes and sets of stacks are values: equal ones have one number, and nothing is ever undone.
//
// Contract: a set has one entry for each node, with the local state that reads on there. may_end(): the bottom was
// left, so the text may end. Numbers stay valid as long as the object. Borrows the local states. Not thread-safe.
// Error: an ambiguous grammar needs more than kMostEntries stacks at a time, or too many sets.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "engine/constraint/automaton/intern_table.h"
#include "engine/constraint/automaton/local_states.h"

namespace tandem::constraint {

using NodeId = int32_t;
using SetId = int32_t;

inline constexpr SetId kNoStack = 0;  // the empty set: the bytes so far are wrong
inline constexpr int64_t kMostEntries = 4096;
inline constexpr int64_t kMostSets = 2'000'000;
// Plain characters: those that a JSON string has without an escape, and that usable bytes can write. See plain_run().
inline constexpr int32_t kMostPlainRun = 32, kEndlessRun = 1 << 20;

class StackSets {
 public:
  explicit StackSets(LocalStates& locals);
  StackSets(const StackSets&) = delete;
  StackSets& operator=(const StackSets&) = delete;

  struct Entry {
    LocalId local;
    NodeId node;
    bool operator==(const Entry&) const = default;
  };
  SetId begin();               // before the first byte of a text
  SetId alone(LocalId local);  // one frame in this state, at the bottom; the rules that it calls are left out
  SetId behind(NodeId node);   // after the frame above this node has ended
  SetId step(SetId set, uint8_t byte);
  bool may_end(SetId set) const { return sets_[static_cast<size_t>(set)].may_end; }
  std::span<const Entry> entries(SetId set) const;
  // How many plain characters may follow, whichever they are, without leaving the frame: the same number of them always
  // leads to the same set. kMostPlainRun stands for any larger number, kEndlessRun for no end.
  int32_t plain_run(SetId set);

  int64_t sets() const { return std::ssize(sets_); }
  int64_t nodes() const { return std::ssize(nodes_); }
  SetId taken_from(const StackSets& other, SetId set);  // the same set, of another object with the same local states

 private:
  struct Return {
    LocalId to;  // -1: the bottom
    NodeId parent;
    bool operator==(const Return&) const = default;
    auto operator<=>(const Return&) const = default;
  };
  using Row = std::array<SetId, 256>;
  struct Set {
    int64_t first = 0;  // in entries_
    int32_t count = 0;
    bool may_end = false;
    uint8_t visits = 0;
    SetId plain_next = -1;  // -1: not known yet
    Row* row = nullptr;
  };
  struct Node {
    int64_t first = 0;  // in returns_
    int32_t count = 0;
    SetId behind = -1;  // -1: not known yet
  };
  std::span<const Return> returns(NodeId node) const;
  NodeId intern_node(std::vector<Return>& returns);
  SetId intern_set(std::vector<Entry>& entries, bool may_end);
  void take(const Entry& entry);
  void call_all(LocalId local, NodeId node);
  SetId close();
  SetId step_once(SetId set, uint8_t byte);
  void make_row(SetId set);
  SetId plain_next(SetId set);
  SetId follow(SetId set, uint8_t low, uint8_t high, int more);

  LocalStates& locals_;
  std::vector<Set> sets_;
  std::vector<Entry> entries_;
  std::vector<Node> nodes_;
  std::vector<Return> returns_;
  std::deque<Row> rows_;
  InternTable set_table_, node_table_;
  // Scratch of close().
  std::vector<Entry> pending_, made_;
  std::vector<std::vector<Return>> of_rule_;
  std::vector<std::pair<int32_t, RuleId>> called_;  // a heap by rank
  bool ends_ = false;
};

}  // namespace tandem::constraint
