#include "engine/draft/suffix_automaton.h"

#include "engine/draft/growth.h"

namespace tandem {
namespace {

// The multiplication spreads pairs of state and token over all bits, of which the table takes the middle ones.
size_t hash_of(int32_t state, int32_t token) {
  const uint64_t key = static_cast<uint64_t>(static_cast<uint32_t>(state)) << 32 | static_cast<uint32_t>(token);
  return static_cast<size_t>((key * 0x9E3779B97F4A7C15u) >> 29);
}

}  // namespace

// Ancestors of the last state get the place of the last token only now. So until here, last_end() gave the place before
// the text's end, which is what a draft looks for.
void SuffixAutomaton::append(int32_t token) {
  const auto place = static_cast<int32_t>(tokens_.size());
  if (last_ != kRoot) last_ends_.record(last_, place - 1);
  push_back_tightly(tokens_, token);
  const auto added = static_cast<int32_t>(states_.size());
  push_back_tightly(states_, {place + 1, kRoot, place, kNone, kNone});
  last_ends_.add(place);
  // All suffixes of the old text get the transition. The walk ends at the first state that has one already.
  int32_t state = last_, found = kNone;
  for (; state != kNone && (found = next(state, token)) == kNone; state = at(state).link) set_next(state, token, added);
  if (state != kNone) {
    // The transition that was found may lead to longer strings as well. They are split off, since the new text ends
    // only in the shorter ones.
    if (at(found).length != at(state).length + 1) found = split(state, found, token);
    at(added).link = found;
  }
  last_ends_.set_parent(added, at(added).link);
  last_ = added;
}

// The shorter strings of `state`, which the transition `from` reaches, now end at more places than the longer ones.
// They move to a state of their own, which is returned.
int32_t SuffixAutomaton::split(int32_t from, int32_t state, int32_t token) {
  const auto shorter = static_cast<int32_t>(states_.size());
  push_back_tightly(states_, {at(from).length + 1, at(state).link, at(state).first_end, at(state).first_next, kNone});
  last_ends_.insert_above(state);
  for (int32_t each = at(state).others; each != kNone; each = transition(each).sibling)
    add_other(shorter, transition(each).to);
  at(state).link = shorter;
  for (; from != kNone && next(from, token) == state; from = at(from).link) set_next(from, token, shorter);
  return shorter;
}

// Most states go on in one way only, and that way is in the state itself.
int32_t SuffixAutomaton::next(int32_t state, int32_t token) const {
  if (follows_first_end(state, token)) return at(state).first_next;
  const int32_t index = find_other(state, token);
  return index == kNone ? kNone : transition(index).to;
}

bool SuffixAutomaton::follows_first_end(int32_t state, int32_t token) const {
  const auto behind = static_cast<size_t>(at(state).first_end + 1);
  return behind < tokens_.size() && tokens_[behind] == token;
}

int32_t SuffixAutomaton::find_other(int32_t state, int32_t token) const {
  if (table_.empty()) return kNone;
  const size_t mask = table_.size() - 1;
  for (size_t slot = hash_of(state, token) & mask; table_[slot] != kNone; slot = (slot + 1) & mask) {
    const Transition& each = transition(table_[slot]);
    if (each.from == state && tokens_[static_cast<size_t>(at(each.to).first_end)] == token) return table_[slot];
  }
  return kNone;
}

// A transition on the token behind the state's first end has its place in the state. Others go into the table.
void SuffixAutomaton::set_next(int32_t state, int32_t token, int32_t to) {
  if (follows_first_end(state, token)) {
    at(state).first_next = to;
  } else if (const int32_t index = find_other(state, token); index != kNone) {
    transitions_[static_cast<size_t>(index)].to = to;
  } else {
    add_other(state, to);
  }
}

void SuffixAutomaton::add_other(int32_t state, int32_t to) {
  const auto index = static_cast<int32_t>(transitions_.size());
  push_back_tightly(transitions_, {state, to, at(state).others});
  at(state).others = index;
  // The table is at most four fifths full, and doubles otherwise.
  if (transitions_.size() * 5 <= table_.size() * 4) return put_in_table(index);
  table_.assign(table_.empty() ? 64 : table_.size() * 2, kNone);
  for (int32_t each = 0; each <= index; ++each) put_in_table(each);
}

void SuffixAutomaton::put_in_table(int32_t index) {
  const Transition& each = transition(index);
  const size_t mask = table_.size() - 1;
  size_t slot = hash_of(each.from, tokens_[static_cast<size_t>(at(each.to).first_end)]) & mask;
  while (table_[slot] != kNone) slot = (slot + 1) & mask;
  table_[slot] = index;
}

size_t SuffixAutomaton::bytes() const {
  return tokens_.capacity() * sizeof(int32_t) + states_.capacity() * sizeof(State) + last_ends_.bytes() +
         transitions_.capacity() * sizeof(Transition) + table_.capacity() * sizeof(int32_t);
}

}  // namespace tandem
