// Lays sets of characters and repeated pieces into a net of bytes. Characters that end in the same bytes share the
// states behind their first bytes.
#include "engine/constraint/text/text_pieces.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tandem::constraint {

// Equal rests lead to the end by the same states, so they share one state in front.
StateId SharedEnds::state_before(const std::vector<Bytes>& rest) {
  if (rest.empty()) return end_;
  if (const auto known = states_.find(rest); known != states_.end()) return known->second;
  const StateId state = net_.add_state();
  states_[rest] = state;
  add(state, rest);
  return state;
}

// A way of several bytes: the first one leaves `from`, and the rest is shared with other ways.
void SharedEnds::add(StateId from, const std::vector<Bytes>& way) {
  const StateId next = state_before({way.begin() + 1, way.end()});
  for (const DigitRange& range : way[0].ranges)
    net_.add_byte(from, static_cast<uint8_t>(range.low), static_cast<uint8_t>(range.high), next);
}

// UTF-8 (RFC 3629): 7 bits in one byte; 11, 16 and 21 bits in a lead byte and continuation bytes of 6 bits. A range is
// cut where the number of bytes changes, and each part into ranges of its bytes.
void add_characters(RuleNet& net, StateId from, const CharacterSet& set, StateId to) {
  static constexpr std::array<uint32_t, 4> kBases[] = {{128}, {32, 64}, {16, 64, 64}, {8, 64, 64, 64}};
  static constexpr char32_t kLast[] = {0x7F, 0x7FF, 0xFFFF, kLastCharacter};
  static constexpr uint32_t kLead[] = {0, 0xC0, 0xE0, 0xF0};
  SharedEnds ends(net, to);
  for (const CharacterSet::Range& range : set.ranges()) {
    char32_t low = range.low;
    for (size_t more = 0; more < 4 && low <= range.high; ++more) {
      if (low > kLast[more]) continue;
      const char32_t high = std::min(range.high, kLast[more]);
      for (const DigitRanges& digits : digit_ranges(low, high, std::span(kBases[more]).first(more + 1))) {
        std::vector<SharedEnds::Bytes> way;
        for (size_t i = 0; i < digits.size(); ++i) {
          const uint32_t mark = i == 0 ? kLead[more] : 0x80;
          way.push_back({{{digits[i].low | mark, digits[i].high | mark}}});
        }
        ends.add(from, way);
      }
      low = high + 1;
    }
  }
}

// States of their own stand before and behind a loop, so it cannot be entered from elsewhere. A loop that is too
// large is refused after two pieces. The first one may add rules that the others share. All further pieces are copies
// of the second one, because a copy costs less than the ranges of a set in UTF-8.
void add_repeated(RuleNet& net, StateId from, int64_t least, int64_t most, const Piece& piece, StateId to) {
  // The numbers of the pieces that must be there come first; pieces that may be there can each be left out with
  // all that follow.
  const int64_t times = std::max(least, most);
  int64_t laid = 0;
  RuleNet::Mark first{}, last{};
  StateId second_begin = 0, second_end = 0;
  const auto lay = [&](StateId begin) {
    if (++laid > 2) return second_end + net.add_copy(first, last, second_begin, begin);
    first = net.mark();
    second_begin = begin;
    second_end = net.add_state();
    piece(net, begin, second_end);
    last = net.mark();
    if (laid == 2) net.require_room((times - laid) * (last.states - first.states));
    return second_end;
  };
  for (int64_t i = 0; i < least; ++i) from = lay(from);
  if (most < 0) {
    const StateId loop = net.add_state();
    net.add_nothing(from, loop);
    piece(net, loop, loop);
    net.add_nothing(loop, to);
    return;
  }
  for (int64_t i = least; i < most; ++i) {
    net.add_nothing(from, to);
    from = lay(from);
  }
  net.add_nothing(from, to);
}

}  // namespace tandem::constraint
