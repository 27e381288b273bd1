#include "engine/constraint/automaton/local_states.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "sync/error.h"

namespace tandem::constraint {

LocalStates::LocalStates(TrimmedNet net)
    : net_(std::move(net)), starts_(net_.starts.size(), -1), seen_(net_.is_end.size()) {}

// A state without an end, a byte or a call only leads on by edges that read nothing. closed() has followed those
// already, so such a state says nothing in a set.
bool LocalStates::matters(StateId state) const {
  const auto s = static_cast<size_t>(state);
  return net_.is_end[s] || net_.byte_begin[s] != net_.byte_begin[s + 1] || net_.call_begin[s] != net_.call_begin[s + 1];
}

// The states that are reached from these without reading.
LocalId LocalStates::closed(std::span<const StateId> seeds) {
  ++round_;
  std::vector<StateId> members;
  // A state of this round was seen before. The number of the round saves clearing `seen_` for each call.
  const auto reach = [&](StateId state) {
    if (seen_[static_cast<size_t>(state)] == round_) return;
    seen_[static_cast<size_t>(state)] = round_;
    work_.push_back(state);
  };
  for (const StateId state : seeds) reach(state);
  while (!work_.empty()) {
    const StateId state = work_.back();
    work_.pop_back();
    if (matters(state)) members.push_back(state);
    const auto s = static_cast<size_t>(state);
    for (int32_t i = net_.nothing_begin[s]; i < net_.nothing_begin[s + 1]; ++i)
      reach(net_.nothings[static_cast<size_t>(i)]);
  }
  std::ranges::sort(members);
  return intern(std::move(members));
}

// Sets with equal members get one number, so later steps compare numbers and not sets. The limit bounds the memory that
// an ambiguous grammar can take.
LocalId LocalStates::intern(std::vector<StateId> members) {
  uint64_t hash = members.size();
  for (const StateId state : members) hash = mixed(hash, static_cast<uint64_t>(state));
  if (const int32_t known = table_.find(hash, [&](int32_t local) { return at(local).members == members; }); known >= 0)
    return known;
  if (std::ssize(locals_) >= kMostLocalStates)
    throw Error("the grammar is too ambiguous", "it needs more than " + std::to_string(kMostLocalStates) + " states",
                "Write alternatives that differ in their first characters");
  const auto local = static_cast<LocalId>(locals_.size());
  Local& made = locals_.emplace_back();
  for (const StateId state : members) {
    const auto s = static_cast<size_t>(state);
    made.is_end = made.is_end || net_.is_end[s];
    made.reads = made.reads || net_.byte_begin[s] != net_.byte_begin[s + 1];
  }
  made.members = std::move(members);
  table_.add(hash, local);
  return local;
}

LocalId LocalStates::start(RuleId rule) {
  LocalId& start = starts_[static_cast<size_t>(rule)];
  if (start < 0) start = closed({&net_.starts[static_cast<size_t>(rule)], 1});
  return start;
}

// A union is remembered by both numbers, the smaller first, so either order of arguments finds it.
LocalId LocalStates::joined(LocalId a, LocalId b) {
  if (a == b) return a;
  if (a > b) std::swap(a, b);
  const uint64_t key = static_cast<uint64_t>(a) << 32 | static_cast<uint64_t>(b);
  if (const auto known = joined_.find(key); known != joined_.end()) return known->second;
  std::vector<StateId> members;
  std::ranges::set_union(at(a).members, at(b).members, std::back_inserter(members));
  return joined_[key] = intern(std::move(members));
}

// Segments and calls are made when a text first needs them. The deque never moves a local state, so spans stay valid.
std::span<const LocalStates::Segment> LocalStates::segments(LocalId local) {
  if (!at(local).has_segments) make_segments(local);
  return at(local).segments;
}

std::span<const LocalStates::Call> LocalStates::calls(LocalId local) {
  if (!at(local).has_calls) make_calls(local);
  return at(local).calls;
}

// Between two borders of ranges all bytes lead to the same states.
void LocalStates::make_segments(LocalId local) {
  std::vector<TrimmedNet::ByteEdge> edges;
  for (const StateId state : at(local).members) {
    const auto s = static_cast<size_t>(state);
    edges.insert(edges.end(), net_.bytes.begin() + net_.byte_begin[s], net_.bytes.begin() + net_.byte_begin[s + 1]);
  }
  std::vector<int> borders;
  for (const auto& edge : edges) {
    borders.push_back(edge.low);
    borders.push_back(edge.high + 1);
  }
  std::ranges::sort(borders);
  borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
  std::ranges::sort(edges, {}, &TrimmedNet::ByteEdge::low);
  std::vector<Segment> segments;
  std::vector<StateId> targets;
  for (size_t i = 0; i + 1 < borders.size(); ++i) {
    targets.clear();
    for (const auto& edge : edges) {
      if (edge.low > borders[i]) break;
      if (edge.high >= borders[i]) targets.push_back(edge.to);
    }
    // Two borders next to each other enclose bytes that no edge tells apart. Their targets are collected once.
    if (targets.empty()) continue;
    const auto low = static_cast<uint8_t>(borders[i]), high = static_cast<uint8_t>(borders[i + 1] - 1);
    const LocalId to = closed(targets);
    if (!segments.empty() && segments.back().to == to && segments.back().high + 1 == low)
      segments.back().high = high;
    else
      segments.push_back({low, high, to});
  }
  at(local).segments = std::move(segments);
  at(local).has_segments = true;
}

// All calls of one rule return to one local state, so a rule is begun once, however many calls there are.
void LocalStates::make_calls(LocalId local) {
  std::vector<TrimmedNet::CallEdge> edges;
  for (const StateId state : at(local).members) {
    const auto s = static_cast<size_t>(state);
    edges.insert(edges.end(), net_.calls.begin() + net_.call_begin[s], net_.calls.begin() + net_.call_begin[s + 1]);
  }
  std::ranges::sort(edges, {}, [](const auto& edge) { return std::pair(edge.rule, edge.to); });
  std::vector<Call> calls;
  std::vector<StateId> targets;
  for (size_t i = 0; i < edges.size();) {
    const RuleId rule = edges[i].rule;
    targets.clear();
    for (; i < edges.size() && edges[i].rule == rule; ++i) targets.push_back(edges[i].to);
    // A call is a tail call if nothing but the end follows it. StackSets then pushes no return for it.
    const LocalId to = closed(targets);
    const bool only_ends = std::ranges::all_of(at(to).members, [this](StateId state) {
      const auto s = static_cast<size_t>(state);
      return net_.byte_begin[s] == net_.byte_begin[s + 1] && net_.call_begin[s] == net_.call_begin[s + 1];
    });
    calls.push_back({rule, to, only_ends});
  }
  at(local).calls = std::move(calls);
  at(local).has_calls = true;
}

}  // namespace tandem::constraint
