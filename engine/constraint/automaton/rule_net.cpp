#include "engine/constraint/automaton/rule_net.h"

#include <utility>

#include "sync/error.h"
#include "sync/long_wait.h"

namespace tandem::constraint {
namespace {

constexpr int64_t kStatesOfLook = 1024;  // between two looks for a stop

// Both limits have one message. A user can only make the grammar smaller, whichever limit is met.
[[noreturn]] void refuse_size(const std::string& what, int64_t most) {
  throw Error("the grammar is too large", "it needs more than " + std::to_string(most) + " " + what,
              "Make lengths, numbers of items or repetitions smaller, or write fewer alternatives");
}

}  // namespace

RuleId RuleNet::add_rule(std::string name) {
  // A rule has one start and one end from the beginning, so it may be called before its body is there.
  const StateId start = add_state(), end = add_state();
  rules_.push_back({std::move(name), start, end});
  return static_cast<RuleId>(rules_.size()) - 1;
}

void RuleNet::require_room(int64_t states) const {
  if (states > kMostStates - states_) refuse_size("states", kMostStates);
}

// A large net takes a second, and a program that ends need not finish it.
StateId RuleNet::add_state() {
  require_room(1);
  if (states_ % kStatesOfLook == 0 && stop_is_asked()) throw Interrupted();
  return static_cast<StateId>(states_++);
}

void RuleNet::add(const Edge& edge) {
  if (static_cast<int64_t>(edges_.size()) >= kMostEdges) refuse_size("edges", kMostEdges);
  edges_.push_back(edge);
}

void RuleNet::add_byte(StateId from, uint8_t low, uint8_t high, StateId to) {
  add({from, to, -1, low, high, Edge::Kind::bytes});
}

void RuleNet::add_nothing(StateId from, StateId to) { add({from, to, -1, 0, 0, Edge::Kind::nothing}); }

void RuleNet::add_call(StateId from, RuleId rule, StateId to) { add({from, to, rule, 0, 0, Edge::Kind::call}); }

// Copies keep the order of the edges, so the net is the one that the piece would have made again.
StateId RuleNet::add_copy(const Mark& first, const Mark& last, StateId begin, StateId other_begin) {
  const auto by = static_cast<StateId>(states_ - first.states);
  for (int64_t i = first.states; i < last.states; ++i) add_state();
  const auto moved = [&](StateId state) { return state == begin ? other_begin : state + by; };
  for (size_t i = first.edges; i < last.edges; ++i) {
    Edge edge = edges_[i];
    edge.from = moved(edge.from);
    edge.to = moved(edge.to);
    add(edge);
  }
  return by;
}

// An empty text reads nothing. Otherwise each byte but the last leads to a state of its own.
void RuleNet::add_text(StateId from, std::string_view bytes, StateId to) {
  if (bytes.empty()) return add_nothing(from, to);
  for (size_t i = 0; i < bytes.size(); ++i) {
    const StateId next = i + 1 < bytes.size() ? add_state() : to;
    const auto byte = static_cast<uint8_t>(bytes[i]);
    add_byte(from, byte, byte, next);
    from = next;
  }
}

}  // namespace tandem::constraint
