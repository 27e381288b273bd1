#include "engine/constraint/automaton/stack_sets.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <string>

#include "sync/error.h"

namespace tandem::constraint {
namespace {

// Tables of a set's next sets make a step one look-up. Their number is limited, because each takes a KiB.
constexpr int64_t kMostRows = 32'768;  // of 1 KiB
constexpr uint8_t kVisitsOfRow = 2;    // a set that is left more often gets a table of all bytes
constexpr NodeId kBottom = 0;

}  // namespace

// Set 0 is empty, and node 0 is the bottom of all stacks.
StackSets::StackSets(LocalStates& locals) : locals_(locals), of_rule_(static_cast<size_t>(locals.rules())) {
  std::vector<Entry> none;
  intern_set(none, false);
  std::vector<Return> bottom{{-1, -1}};
  intern_node(bottom);
}

std::span<const StackSets::Entry> StackSets::entries(SetId set) const {
  const Set& of = sets_[static_cast<size_t>(set)];
  return std::span(entries_).subspan(static_cast<size_t>(of.first), static_cast<size_t>(of.count));
}

std::span<const StackSets::Return> StackSets::returns(NodeId node) const {
  const Node& of = nodes_[static_cast<size_t>(node)];
  return std::span(returns_).subspan(static_cast<size_t>(of.first), static_cast<size_t>(of.count));
}

// Returns to one parent are one return to the union of their states.
NodeId StackSets::intern_node(std::vector<Return>& list) {
  std::ranges::sort(list, {}, [](const Return& one) { return std::pair(one.parent, one.to); });
  size_t kept = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    if (kept > 0 && list[kept - 1].parent == list[i].parent) {
      if (list[i].to >= 0 && list[kept - 1].to != list[i].to)
        list[kept - 1].to = locals_.joined(list[kept - 1].to, list[i].to);
      continue;
    }
    list[kept++] = list[i];
  }
  list.resize(kept);
  uint64_t hash = kept;
  // The hash covers both halves of each return: where the frame goes on, and the node below it.
  for (const Return& one : list)
    hash = mixed(hash, static_cast<uint64_t>(static_cast<uint32_t>(one.to)) << 32 | static_cast<uint32_t>(one.parent));
  if (const NodeId known = node_table_.find(hash, [&](NodeId node) { return std::ranges::equal(returns(node), list); });
      known >= 0)
    return known;
  const auto node = static_cast<NodeId>(nodes_.size());
  nodes_.push_back({std::ssize(returns_), static_cast<int32_t>(kept), -1});
  returns_.insert(returns_.end(), list.begin(), list.end());
  node_table_.add(hash, node);
  return node;
}

// Entries of one node are one entry with the union of their states. Entries that read nothing were followed already.
SetId StackSets::intern_set(std::vector<Entry>& list, bool may_end) {
  // An entry that reads no byte has been followed by close(). Only its calls and returns mattered.
  std::erase_if(list, [this](const Entry& entry) { return !locals_.reads(entry.local); });
  std::ranges::sort(list, {}, [](const Entry& entry) { return std::pair(entry.node, entry.local); });
  size_t kept = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    if (kept > 0 && list[kept - 1].node == list[i].node)
      list[kept - 1].local = locals_.joined(list[kept - 1].local, list[i].local);
    else
      list[kept++] = list[i];
  }
  list.resize(kept);
  if (std::ssize(list) > kMostEntries || std::ssize(sets_) > kMostSets)
    throw Error("the grammar is too ambiguous", "the text so far can be read in too many ways",
                "Write alternatives that differ in their first characters");
  // Two sets with the same entries differ if only one of them may end the text, so the hash has a bit for it.
  uint64_t hash = kept * 2 + (may_end ? 1 : 0);
  for (const Entry& one : list)
    hash = mixed(hash, static_cast<uint64_t>(static_cast<uint32_t>(one.local)) << 32 | static_cast<uint32_t>(one.node));
  const auto is_same = [&](SetId set) {
    return this->may_end(set) == may_end && std::ranges::equal(entries(set), list);
  };
  if (const SetId known = set_table_.find(hash, is_same); known >= 0) return known;
  const auto set = static_cast<SetId>(sets_.size());
  Set& made = sets_.emplace_back();
  made.first = std::ssize(entries_);
  made.count = static_cast<int32_t>(kept);
  made.may_end = may_end;
  entries_.insert(entries_.end(), list.begin(), list.end());
  set_table_.add(hash, set);
  return set;
}

// A frame may go on here. Each is followed once: what it calls, and where it returns to if it may end.
void StackSets::take(const Entry& entry) {
  if (std::ranges::find(made_, entry) != made_.end()) return;
  if (std::ssize(made_) > kMostEntries)
    throw Error("the grammar is too ambiguous", "the text so far can be read in too many ways",
                "Write alternatives that differ in their first characters");
  made_.push_back(entry);
  pending_.push_back(entry);
}

// All calls of one rule at one place of the text share a node. A call that nothing follows returns
// to the caller's own caller, so lists that are written by recursion need no deeper stack.
void StackSets::call_all(LocalId local, NodeId node) {
  for (const LocalStates::Call& call : locals_.calls(local)) {
    std::vector<Return>& list = of_rule_[static_cast<size_t>(call.rule)];
    if (list.empty()) {
      called_.emplace_back(locals_.rank(call.rule), call.rule);
      std::ranges::push_heap(called_, std::greater<>());
    }
    if (!call.is_tail) {
      list.push_back({call.to, node});
      continue;
    }
    const auto own = returns(node);
    list.insert(list.end(), own.begin(), own.end());
  }
}

// Follows calls and returns until only reading is left. Rules are begun in the order of their ranks: when a rule's turn
// comes, all its callers are known, so its node is complete. A rule that may be empty is also stepped over by its
// callers, so a frame that has just begun need not return.
SetId StackSets::close() {
  // First the frames that a byte led to are followed: what they call, and where they return to when they may end.
  while (!pending_.empty()) {
    const Entry entry = pending_.back();
    pending_.pop_back();
    call_all(entry.local, entry.node);
    if (!locals_.is_end(entry.local)) continue;
    for (int32_t i = 0; i < nodes_[static_cast<size_t>(entry.node)].count; ++i) {
      const Return one = returns(entry.node)[static_cast<size_t>(i)];
      if (one.to < 0)
        ends_ = true;
      else
        take({one.to, one.parent});
    }
  }
  // Then the called rules begin. The heap gives the smallest rank first, so a caller stands before what it calls.
  while (!called_.empty()) {
    std::ranges::pop_heap(called_, std::greater<>());
    const RuleId rule = called_.back().second;
    called_.pop_back();
    const NodeId node = intern_node(of_rule_[static_cast<size_t>(rule)]);
    of_rule_[static_cast<size_t>(rule)].clear();
    const LocalId start = locals_.start(rule);
    made_.push_back({start, node});
    call_all(start, node);
  }
  const SetId set = intern_set(made_, ends_);
  made_.clear();
  ends_ = false;
  return set;
}

// A text begins in the root rule, whose frame returns to the bottom.
SetId StackSets::begin() {
  const LocalId start = locals_.start(0);
  made_.push_back({start, kBottom});
  call_all(start, kBottom);
  ends_ = locals_.is_end(start);
  return close();
}

// TokenSets asks for one frame by itself, so no rule that the frame calls is begun.
SetId StackSets::alone(LocalId local) {
  std::vector<Entry> entries{{local, kBottom}};
  return intern_set(entries, false);
}

// The answer is kept in the node: many tokens leave one frame, and each asks for what is below.
SetId StackSets::behind(NodeId node) {
  if (const SetId known = nodes_[static_cast<size_t>(node)].behind; known >= 0) return known;
  for (int32_t i = 0; i < nodes_[static_cast<size_t>(node)].count; ++i) {
    const Return one = returns(node)[static_cast<size_t>(i)];
    if (one.to < 0)
      ends_ = true;
    else
      take({one.to, one.parent});
  }
  const SetId set = close();
  nodes_[static_cast<size_t>(node)].behind = set;
  return set;
}

// A step by one byte: each entry reads it in its own frame, and close() follows the calls and returns behind it.
SetId StackSets::step_once(SetId set, uint8_t byte) {
  const Set of = sets_[static_cast<size_t>(set)];
  for (int64_t i = of.first; i < of.first + of.count; ++i) {
    const Entry entry = entries_[static_cast<size_t>(i)];
    for (const LocalStates::Segment& segment : locals_.segments(entry.local)) {
      if (segment.low > byte) break;
      if (segment.high >= byte) take({segment.to, entry.node});
    }
  }
  return made_.empty() ? kNoStack : close();
}

// Between two borders of segments all bytes lead to the same set.
void StackSets::make_row(SetId set) {
  Row& row = rows_.emplace_back();
  row.fill(kNoStack);
  std::array<bool, 257> is_border{};
  const Set of = sets_[static_cast<size_t>(set)];
  for (int64_t i = of.first; i < of.first + of.count; ++i)
    for (const LocalStates::Segment& segment : locals_.segments(entries_[static_cast<size_t>(i)].local))
      is_border[segment.low] = is_border[static_cast<size_t>(segment.high) + 1] = true;
  SetId to = kNoStack;
  for (size_t byte = 0; byte < 256; ++byte) {
    if (is_border[byte]) to = step_once(set, static_cast<uint8_t>(byte));
    row[byte] = to;
  }
  sets_[static_cast<size_t>(set)].row = &row;
}

SetId StackSets::step(SetId set, uint8_t byte) {
  // A set that is left for the first times is stepped by its segments. A table pays only for sets that texts return to.
  Set& of = sets_[static_cast<size_t>(set)];
  if (of.row) return (*of.row)[byte];
  if (of.count == 0) return kNoStack;
  if (of.visits < kVisitsOfRow || std::ssize(rows_) >= kMostRows) {
    ++of.visits;
    return step_once(set, byte);
  }
  make_row(set);
  return (*sets_[static_cast<size_t>(set)].row)[byte];
}

// The one set behind all these bytes and `more` continuation bytes of UTF-8, as far as they are usable; kNoStack if
// there is no such one.
SetId StackSets::follow(SetId set, uint8_t low, uint8_t high, int more) {
  SetId only = kNoStack, last = -1;
  for (int byte = low; byte <= high; ++byte) {
    if (!locals_.is_usable(static_cast<uint8_t>(byte))) continue;
    const SetId next = step(set, static_cast<uint8_t>(byte));
    if (next == kNoStack || may_end(next)) return kNoStack;
    if (next == last) continue;
    last = next;
    const SetId end = more == 0 ? next : follow(next, 0x80, 0xBF, more - 1);
    if (end == kNoStack || (only != kNoStack && end != only)) return kNoStack;
    only = end;
  }
  // All bytes have led to one set.
  return only;
}

// The set behind any one plain character. The well-formed sequences are those of Table 3-7 of the Unicode Standard.
SetId StackSets::plain_next(SetId set) {
  if (const SetId known = sets_[static_cast<size_t>(set)].plain_next; known >= 0) return known;
  const SetId next = step(set, 'a');
  // The letter 'a' stands for all plain characters. Each other range must lead to where the letter leads.
  const auto leads_there = [&](uint8_t low, uint8_t high) { return follow(set, low, high, 0) == next; };
  const auto through = [&](uint8_t low, uint8_t high, uint8_t second_low, uint8_t second_high, int more) {
    SetId last = -1;
    for (int byte = low; byte <= high; ++byte) {
      if (!locals_.is_usable(static_cast<uint8_t>(byte))) continue;
      const SetId second = step(set, static_cast<uint8_t>(byte));
      if (second == last) continue;
      last = second;
      if (second == kNoStack || may_end(second) || follow(second, second_low, second_high, more) != next) return false;
    }
    return true;
  };
  const bool is_plain = next != kNoStack && !may_end(next) && step(set, 'z') == next && step(set, ' ') == next &&
                        leads_there(0x20, 0x21) && leads_there(0x23, 0x5B) && leads_there(0x5D, 0x7F) &&
                        through(0xC2, 0xDF, 0x80, 0xBF, 0) && through(0xE0, 0xE0, 0xA0, 0xBF, 1) &&
                        through(0xE1, 0xEC, 0x80, 0xBF, 1) && through(0xED, 0xED, 0x80, 0x9F, 1) &&
                        through(0xEE, 0xEF, 0x80, 0xBF, 1) && through(0xF0, 0xF0, 0x90, 0xBF, 2) &&
                        through(0xF1, 0xF3, 0x80, 0xBF, 2) && through(0xF4, 0xF4, 0x80, 0x8F, 2);
  return sets_[static_cast<size_t>(set)].plain_next = is_plain ? next : kNoStack;
}

// The run is followed character by character until a character matters. A set that leads to itself never ends.
int32_t StackSets::plain_run(SetId set) {
  for (int32_t run = 0; run < kMostPlainRun; ++run) {
    const SetId next = plain_next(set);
    if (next == kNoStack) return run;
    if (next == set) return kEndlessRun;
    set = next;
  }
  return kMostPlainRun;
}

// A node's parents have smaller numbers than itself, so nodes are made anew in rising order.
SetId StackSets::taken_from(const StackSets& other, SetId set) {
  std::map<NodeId, NodeId> own;
  std::vector<NodeId> work;
  // First the nodes below the set's entries are collected, down to the bottom.
  const auto need = [&](NodeId node) {
    if (node >= 0 && own.emplace(node, -1).second) work.push_back(node);
  };
  for (const Entry& entry : other.entries(set)) need(entry.node);
  while (!work.empty()) {
    const NodeId node = work.back();
    work.pop_back();
    for (const Return& one : other.returns(node)) need(one.parent);
  }
  for (auto& [node, mine] : own) {
    std::vector<Return> list;
    for (const Return& one : other.returns(node)) list.push_back({one.to, one.parent < 0 ? -1 : own.at(one.parent)});
    mine = intern_node(list);
  }
  std::vector<Entry> list;
  for (const Entry& entry : other.entries(set)) list.push_back({entry.local, own.at(entry.node)});
  return intern_set(list, other.may_end(set));
}

}  // namespace tandem::constraint
