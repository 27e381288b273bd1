#include "engine/constraint/automaton/trimming.h"

#include <algorithm>
#include <string>

#include "sync/error.h"

namespace tandem::constraint {

// The steps of trimmed(), which share lists of edges by state.
class Trimming {
 public:
  Trimming(const RuleNet& net, const ByteSet& usable)
      : net_(net), usable_(usable), edges_(net.edges()), alive_(edges_.size(), true) {}

  void drop_unusable_bytes();
  void drop_dead_ends();
  bool root_is_possible() const { return possible_[0]; }
  void find_nullable();
  TrimmedNet lists() const;
  std::vector<int32_t> ranks(const std::string& on) const;

 private:
  std::vector<int32_t> edges_by(StateId Edge::*side, std::vector<int32_t>& begin) const;
  void drop_unreachable();
  bool is_usable(const Edge& edge) const;

  const RuleNet& net_;
  const ByteSet& usable_;
  std::vector<Edge> edges_;
  std::vector<bool> alive_;
  std::vector<bool> possible_, nullable_;  // of rules
};

// The numbers of the edges, sorted by one of their ends. begin: of each state, where its edges begin.
std::vector<int32_t> Trimming::edges_by(StateId Edge::*side, std::vector<int32_t>& begin) const {
  begin.assign(static_cast<size_t>(net_.states()) + 1, 0);
  for (size_t i = 0; i < edges_.size(); ++i)
    if (alive_[i]) ++begin[static_cast<size_t>(edges_[i].*side) + 1];
  for (size_t s = 1; s < begin.size(); ++s) begin[s] += begin[s - 1];
  std::vector<int32_t> next(begin.begin(), begin.end() - 1), order(static_cast<size_t>(begin.back()));
  for (size_t i = 0; i < edges_.size(); ++i)
    if (alive_[i]) order[static_cast<size_t>(next[static_cast<size_t>(edges_[i].*side)]++)] = static_cast<int32_t>(i);
  return order;
}

// A range that has bytes which cannot be written is cut into the parts between them.
void Trimming::drop_unusable_bytes() {
  if (std::ranges::all_of(usable_, [](bool one) { return one; })) return;
  std::vector<Edge> cut;
  for (const Edge& edge : edges_) {
    if (edge.kind != Edge::Kind::bytes) {
      cut.push_back(edge);
      continue;
    }
    for (int byte = edge.low; byte <= edge.high;) {
      if (!usable_[static_cast<size_t>(byte)]) {
        ++byte;
        continue;
      }
      Edge part = edge;
      part.low = static_cast<uint8_t>(byte);
      while (byte <= edge.high && usable_[static_cast<size_t>(byte)]) ++byte;
      part.high = static_cast<uint8_t>(byte - 1);
      cut.push_back(part);
    }
  }
  edges_ = std::move(cut);
  alive_.assign(edges_.size(), true);
}

// Goes backwards from the ends of the rules. A call becomes usable when the start of its rule has been reached.
void Trimming::drop_dead_ends() {
  // The search starts at the ends of all rules and goes against the edges.
  std::vector<int32_t> begin;
  const std::vector<int32_t> incoming = edges_by(&Edge::to, begin);
  std::vector<bool> seen(static_cast<size_t>(net_.states()));
  std::vector<StateId> work;
  possible_.assign(static_cast<size_t>(net_.rules()), false);
  std::vector<std::vector<int32_t>> waiting(possible_.size());  // calls, whose end is reached
  // The start of a rule that is reached makes calls of that rule possible. Calls that were met earlier wait for it.
  std::vector<RuleId> rule_of_start(static_cast<size_t>(net_.states()), -1);
  for (RuleId rule = 0; rule < net_.rules(); ++rule) rule_of_start[static_cast<size_t>(net_.start(rule))] = rule;
  const auto reach = [&](StateId state) {
    if (seen[static_cast<size_t>(state)]) return;
    seen[static_cast<size_t>(state)] = true;
    work.push_back(state);
  };
  for (RuleId rule = 0; rule < net_.rules(); ++rule) reach(net_.end(rule));
  while (!work.empty()) {
    const auto state = static_cast<size_t>(work.back());
    work.pop_back();
    if (const RuleId rule = rule_of_start[state]; rule >= 0) {
      possible_[static_cast<size_t>(rule)] = true;
      for (const int32_t edge : waiting[static_cast<size_t>(rule)]) reach(edges_[static_cast<size_t>(edge)].from);
      waiting[static_cast<size_t>(rule)].clear();
    }
    for (int32_t i = begin[state]; i < begin[state + 1]; ++i) {
      const int32_t number = incoming[static_cast<size_t>(i)];
      const Edge& edge = edges_[static_cast<size_t>(number)];
      if (edge.kind == Edge::Kind::call && !possible_[static_cast<size_t>(edge.rule)])
        waiting[static_cast<size_t>(edge.rule)].push_back(number);
      else
        reach(edge.from);
    }
  }
  // An edge stays if both its states are on a way to an end, and if the rule that it calls can be read.
  for (size_t i = 0; i < edges_.size(); ++i) {
    const Edge& edge = edges_[i];
    alive_[i] = seen[static_cast<size_t>(edge.to)] && seen[static_cast<size_t>(edge.from)] &&
                (edge.kind != Edge::Kind::call || possible_[static_cast<size_t>(edge.rule)]);
  }
  drop_unreachable();
}

// Rules that the root never calls may be broken without harm.
void Trimming::drop_unreachable() {
  std::vector<int32_t> begin;
  const std::vector<int32_t> outgoing = edges_by(&Edge::from, begin);
  std::vector<bool> seen(static_cast<size_t>(net_.states()));
  std::vector<StateId> work;
  const auto reach = [&](StateId state) {
    if (seen[static_cast<size_t>(state)]) return;
    seen[static_cast<size_t>(state)] = true;
    work.push_back(state);
  };
  reach(net_.start(0));
  while (!work.empty()) {
    const auto state = static_cast<size_t>(work.back());
    work.pop_back();
    for (int32_t i = begin[state]; i < begin[state + 1]; ++i) {
      const Edge& edge = edges_[static_cast<size_t>(outgoing[static_cast<size_t>(i)])];
      if (edge.kind == Edge::Kind::call) reach(net_.start(edge.rule));
      reach(edge.to);
    }
  }
  for (size_t i = 0; i < edges_.size(); ++i) alive_[i] = alive_[i] && seen[static_cast<size_t>(edges_[i].from)];
}

// A rule may be empty if its end is reached from its start by edges that read nothing, and calls of such rules. Goes
// backwards from the ends; a rule that turns out to be such a one frees the calls that wait for it.
void Trimming::find_nullable() {
  std::vector<int32_t> begin;
  const std::vector<int32_t> incoming = edges_by(&Edge::to, begin);
  nullable_.assign(static_cast<size_t>(net_.rules()), false);
  std::vector<bool> seen(static_cast<size_t>(net_.states()));
  std::vector<StateId> work;
  std::vector<std::vector<int32_t>> waiting(nullable_.size());
  std::vector<RuleId> rule_of_start(static_cast<size_t>(net_.states()), -1);
  for (RuleId rule = 0; rule < net_.rules(); ++rule) rule_of_start[static_cast<size_t>(net_.start(rule))] = rule;
  const auto reach = [&](StateId state) {
    if (seen[static_cast<size_t>(state)]) return;
    seen[static_cast<size_t>(state)] = true;
    // Only edges that read nothing count here, so bytes are left out of the search.
    work.push_back(state);
  };
  for (RuleId rule = 0; rule < net_.rules(); ++rule) reach(net_.end(rule));
  while (!work.empty()) {
    const auto state = static_cast<size_t>(work.back());
    work.pop_back();
    if (const RuleId rule = rule_of_start[state]; rule >= 0) {
      nullable_[static_cast<size_t>(rule)] = true;
      for (const int32_t edge : waiting[static_cast<size_t>(rule)]) reach(edges_[static_cast<size_t>(edge)].from);
      waiting[static_cast<size_t>(rule)].clear();
    }
    for (int32_t i = begin[state]; i < begin[state + 1]; ++i) {
      const int32_t number = incoming[static_cast<size_t>(i)];
      const Edge& edge = edges_[static_cast<size_t>(number)];
      if (edge.kind == Edge::Kind::bytes) continue;
      if (edge.kind == Edge::Kind::call && !nullable_[static_cast<size_t>(edge.rule)])
        waiting[static_cast<size_t>(edge.rule)].push_back(number);
      else
        reach(edge.from);
    }
  }
}

// Turns the remaining edges into three lists in the order of their states, which the walk reads without a search. A
// call of a rule that may be empty is also an edge without a byte.
TrimmedNet Trimming::lists() const {
  TrimmedNet out;
  std::vector<int32_t> begin;
  const std::vector<int32_t> outgoing = edges_by(&Edge::from, begin);
  const auto states = static_cast<size_t>(net_.states());
  for (auto* list : {&out.byte_begin, &out.call_begin, &out.nothing_begin}) list->reserve(states + 1);
  for (size_t state = 0; state < states; ++state) {
    out.byte_begin.push_back(static_cast<int32_t>(out.bytes.size()));
    out.call_begin.push_back(static_cast<int32_t>(out.calls.size()));
    out.nothing_begin.push_back(static_cast<int32_t>(out.nothings.size()));
    for (int32_t i = begin[state]; i < begin[state + 1]; ++i) {
      const Edge& edge = edges_[static_cast<size_t>(outgoing[static_cast<size_t>(i)])];
      if (edge.kind == Edge::Kind::bytes) out.bytes.push_back({edge.low, edge.high, edge.to});
      if (edge.kind == Edge::Kind::call) out.calls.push_back({edge.rule, edge.to});
      if (edge.kind == Edge::Kind::nothing ||
          (edge.kind == Edge::Kind::call && nullable_[static_cast<size_t>(edge.rule)]))
        out.nothings.push_back(edge.to);
    }
  }
  out.byte_begin.push_back(static_cast<int32_t>(out.bytes.size()));
  out.call_begin.push_back(static_cast<int32_t>(out.calls.size()));
  out.nothing_begin.push_back(static_cast<int32_t>(out.nothings.size()));
  out.is_end.assign(states, false);
  for (RuleId rule = 0; rule < net_.rules(); ++rule) {
    out.is_end[static_cast<size_t>(net_.end(rule))] = true;
    out.starts.push_back(net_.start(rule));
  }
  return out;
}

// Orders the rules by a depth-first search over the calls that a rule can make before it has read a byte. A rule that
// is met again on its own way calls itself without reading: a left recursion, on which a text would never begin.
std::vector<int32_t> Trimming::ranks(const std::string& on) const {
  // First each rule's calls before its first byte are found. The search passes a call only if the called rule
  // may be empty.
  std::vector<int32_t> begin;
  const std::vector<int32_t> outgoing = edges_by(&Edge::from, begin);
  const auto rules = static_cast<size_t>(net_.rules());
  std::vector<std::vector<RuleId>> first_calls(rules);
  std::vector<int32_t> seen_by(static_cast<size_t>(net_.states()), -1);
  for (RuleId rule = 0; rule < net_.rules(); ++rule) {
    std::vector<StateId> work{net_.start(rule)};
    seen_by[static_cast<size_t>(work[0])] = rule;
    while (!work.empty()) {
      const auto state = static_cast<size_t>(work.back());
      work.pop_back();
      for (int32_t i = begin[state]; i < begin[state + 1]; ++i) {
        const Edge& edge = edges_[static_cast<size_t>(outgoing[static_cast<size_t>(i)])];
        if (edge.kind == Edge::Kind::bytes) continue;
        if (edge.kind == Edge::Kind::call) first_calls[static_cast<size_t>(rule)].push_back(edge.rule);
        if (edge.kind == Edge::Kind::call && !nullable_[static_cast<size_t>(edge.rule)]) continue;
        if (seen_by[static_cast<size_t>(edge.to)] == rule) continue;
        seen_by[static_cast<size_t>(edge.to)] = rule;
        work.push_back(edge.to);
      }
    }
  }
  // Then a depth-first search numbers the rules from behind. A stack of its own replaces recursion, so a deep grammar
  // needs no deep stack.
  std::vector<int32_t> ranks(rules, -1);
  std::vector<uint8_t> open(rules);
  int32_t next = static_cast<int32_t>(rules);
  struct Visit {
    RuleId rule;
    size_t call;
  };
  for (RuleId root = 0; root < net_.rules(); ++root) {
    if (ranks[static_cast<size_t>(root)] >= 0) continue;
    std::vector<Visit> stack{{root, 0}};
    open[static_cast<size_t>(root)] = 1;
    while (!stack.empty()) {
      Visit& top = stack.back();
      const auto rule = static_cast<size_t>(top.rule);
      if (top.call == first_calls[rule].size()) {
        open[rule] = 0;
        ranks[rule] = --next;
        stack.pop_back();
        continue;
      }
      const RuleId called = first_calls[rule][top.call++];
      // The called rule is open: the way from it back to itself is the message.
      if (open[static_cast<size_t>(called)]) {
        std::string way;
        for (size_t i = stack.size(); i-- > 0;) {
          way = net_.name(stack[i].rule) + " -> " + way;
          if (stack[i].rule == called) break;
        }
        throw Error("a rule calls itself before it has read anything", on + ": " + way + net_.name(called),
                    "Put what comes first in front: list ::= item | item list, and not list ::= list item");
      }
      if (ranks[static_cast<size_t>(called)] >= 0) continue;
      open[static_cast<size_t>(called)] = 1;
      stack.push_back({called, 0});
    }
  }
  return ranks;
}

// The order matters: dead ends can only be found when unusable bytes are gone, and ranks when empty rules are known.
TrimmedNet trimmed(const RuleNet& net, const ByteSet& usable, const std::string& on) {
  Trimming trimming(net, usable);
  trimming.drop_unusable_bytes();
  trimming.drop_dead_ends();
  if (!trimming.root_is_possible())
    throw Error("no text can satisfy this", on, "Look for parts that contradict each other, or that never end");
  trimming.find_nullable();
  TrimmedNet out = trimming.lists();
  out.usable = usable;
  out.ranks = trimming.ranks(on);
  return out;
}

}  // namespace tandem::constraint
