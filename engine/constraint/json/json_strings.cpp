#include "engine/constraint/json/json_strings.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "engine/constraint/text/text_pieces.h"

namespace tandem::constraint {
namespace {

const CharacterSet kRaw{{0x20, 0x21}, {0x23, 0x5B}, {0x5D, kLastCharacter}};  // may stand without an escape
const CharacterSet kPrintable{{0x20, 0x7E}};

// JSON's short escapes. The slash is not among them, because no usual spelling escapes it.
struct ShortEscape {
  char32_t code;
  char letter;
};
constexpr ShortEscape kShort[] = {{'"', '"'},  {'\\', '\\'}, {'\b', 'b'}, {'\f', 'f'},
                                  {'\n', 'n'}, {'\r', 'r'},  {'\t', 't'}};

SharedEnds::Bytes byte(char c) { return {{{static_cast<uint8_t>(c), static_cast<uint8_t>(c)}}}; }

// Hexadecimal digits, small and large letters.
SharedEnds::Bytes hex_digits(uint32_t low, uint32_t high) {
  SharedEnds::Bytes bytes;
  if (low < 10) bytes.ranges.push_back({'0' + low, '0' + std::min(high, 9u)});
  if (high >= 10) {
    const uint32_t first = std::max(low, 10u) - 10, last = high - 10;
    bytes.ranges.push_back({'a' + first, 'a' + last});
    bytes.ranges.push_back({'A' + first, 'A' + last});
  }
  return bytes;
}

// \uXXXX behind its backslash. Characters beyond 16 bits are two such numbers: D800 and DC00, each with ten bits of the
// character's number less 0x10000 (UTF-16).
void add_hex(RuleNet& net, StateId from, const CharacterSet& set, StateId to) {
  static constexpr std::array<uint32_t, 4> kOne{16, 16, 16, 16};
  static constexpr std::array<uint32_t, 6> kPair{4, 16, 16, 4, 16, 16};
  SharedEnds ends(net, to);
  const auto digits_of = [](const DigitRange& digit, uint32_t mark = 0) {
    return hex_digits(digit.low | mark, digit.high | mark);
  };
  for (const CharacterSet::Range& range : set.ranges()) {
    if (range.low <= 0xFFFF)
      for (const DigitRanges& d : digit_ranges(range.low, std::min<char32_t>(range.high, 0xFFFF), kOne))
        ends.add(from, {byte('u'), digits_of(d[0]), digits_of(d[1]), digits_of(d[2]), digits_of(d[3])});
    if (range.high > 0xFFFF)
      for (const DigitRanges& d :
           digit_ranges(std::max<char32_t>(range.low, 0x10000) - 0x10000, range.high - 0x10000, kPair))
        ends.add(from, {byte('u'), hex_digits(13, 13), digits_of(d[0], 8), digits_of(d[1]), digits_of(d[2]), byte('\\'),
                        byte('u'), hex_digits(13, 13), digits_of(d[3], 12), digits_of(d[4]), digits_of(d[5])});
  }
}

}  // namespace

// A character stands as itself where JSON allows it, and behind a backslash otherwise. The state behind the backslash
// is made only if some character needs it.
void JsonStrings::add_character(StateId from, const CharacterSet& set, Spelling spelling, StateId to) {
  add_characters(net_, from, set.common_with(kRaw), to);
  const CharacterSet in_hex = spelling == Spelling::any ? set : set.without(kPrintable);
  const bool has_slash = spelling == Spelling::any && set.has('/');
  if (in_hex.empty() && !has_slash && !set.has('"') && !set.has('\\')) return;
  const StateId escape = net_.add_state();
  net_.add_byte(from, '\\', '\\', escape);
  add_behind_backslash(escape, set, spelling, to);
}

void JsonStrings::add_behind_backslash(StateId escape, const CharacterSet& set, Spelling spelling, StateId to) {
  const CharacterSet in_hex = spelling == Spelling::any ? set : set.without(kPrintable);
  const bool has_slash = spelling == Spelling::any && set.has('/');
  for (const auto& [code, letter] : kShort)
    if (set.has(code)) net_.add_byte(escape, static_cast<uint8_t>(letter), static_cast<uint8_t>(letter), to);
  if (has_slash) net_.add_byte(escape, '/', '/', to);
  add_hex(net_, escape, in_hex, to);
}

// The escapes are a rule of their own, so a string that counts its characters has few states for each.
void JsonStrings::add_any_character(StateId from, StateId to) {
  if (escape_ < 0) {
    escape_ = net_.add_rule("escape");
    add_behind_backslash(net_.start(escape_), CharacterSet::all(), Spelling::any, net_.end(escape_));
  }
  add_characters(net_, from, kRaw, to);
  const StateId backslash = net_.add_state();
  net_.add_byte(from, '\\', '\\', backslash);
  net_.add_call(backslash, escape_, to);
}

// Any string is one rule for the whole net, made when it is first needed.
void JsonStrings::add_any(StateId from, StateId to) {
  if (any_ < 0) {
    any_ = net_.add_rule("string");
    add_of_length(net_.start(any_), 0, -1, net_.end(any_));
  }
  net_.add_call(from, any_, to);
}

// Characters are counted and not bytes, as maxLength asks.
void JsonStrings::add_of_length(StateId from, int64_t least, int64_t most, StateId to) {
  const StateId first = net_.add_state(), last = net_.add_state();
  net_.add_byte(from, '"', '"', first);
  add_repeated(
      net_, first, least, most, [this](RuleNet&, StateId a, StateId b) { add_any_character(a, b); }, last);
  net_.add_byte(last, '"', '"', to);
}

// Each state of the pattern's automaton becomes one of the net. The closing quote leaves from its ends.
void JsonStrings::add_accepted(StateId from, const CharAutomaton& automaton, StateId to) {
  std::vector<StateId> states;
  for (size_t i = 0; i < automaton.states.size(); ++i) states.push_back(net_.add_state());
  net_.add_byte(from, '"', '"', states[0]);
  const CharacterSet all = CharacterSet::all();
  for (size_t i = 0; i < automaton.states.size(); ++i) {
    for (const CharAutomaton::Step& step : automaton.states[i].steps) {
      const StateId next = states[static_cast<size_t>(step.to)];
      step.set == all ? add_any_character(states[i], next) : add_character(states[i], step.set, Spelling::usual, next);
    }
    if (automaton.states[i].is_end) net_.add_byte(states[i], '"', '"', to);
  }
}

// A given text is written character by character in its usual spelling.
void JsonStrings::add_text(StateId from, const std::string& text, StateId to) {
  StateId state = net_.add_state();
  net_.add_byte(from, '"', '"', state);
  for (const char32_t code : characters_of(text).value_or(U"")) {
    const StateId next = net_.add_state();
    add_character(state, CharacterSet::of(code), Spelling::usual, next);
    state = next;
  }
  net_.add_byte(state, '"', '"', to);
}

// A tree of the texts. A character that leaves the tree makes the string a different one, whatever follows. A string
// that ends inside the tree is different from all texts unless one of them ends there.
void JsonStrings::add_other_than(StateId from, const std::vector<std::string>& texts, StateId to) {
  if (texts.empty()) return add_any(from, to);
  struct Branch {
    std::map<char32_t, size_t> next;
    bool is_text = false;
    StateId state = 0;
  };
  std::vector<Branch> tree(1);
  for (const std::string& text : texts) {
    size_t at = 0;
    for (const char32_t code : characters_of(text).value_or(U"")) {
      const auto [found, is_new] = tree[at].next.emplace(code, tree.size());
      at = found->second;
      if (is_new) tree.emplace_back();
    }
    tree[at].is_text = true;
  }
  // The state `free` is for strings that differ already: anything may follow.
  const StateId free = net_.add_state();
  add_any_character(free, free);
  net_.add_byte(free, '"', '"', to);
  for (Branch& branch : tree) branch.state = net_.add_state();
  net_.add_byte(from, '"', '"', tree[0].state);
  for (const Branch& branch : tree) {
    std::vector<CharacterSet::Range> known;
    for (const auto& [code, next] : branch.next) {
      known.push_back({code, code});
      add_character(branch.state, CharacterSet::of(code), Spelling::any, tree[next].state);
    }
    if (known.empty())
      add_any_character(branch.state, free);
    else
      add_character(branch.state, CharacterSet(std::move(known)).complement(), Spelling::any, free);
    if (!branch.is_text) net_.add_byte(branch.state, '"', '"', to);
  }
}

}  // namespace tandem::constraint
