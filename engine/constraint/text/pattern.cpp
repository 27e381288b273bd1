// Patterns of JSON schemas (ECMA-262) as automata, by positions: each character of the pattern is a state (Glushkov).
#include "engine/constraint/text/pattern.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sync/error.h"
#include "sync/long_wait.h"

namespace tandem::constraint {
namespace {

constexpr int kDeepestGroup = 64;
constexpr int64_t kMostRepetitions = 10'000;
constexpr int64_t kMostParts = 500'000;  // a repetition counts each time: ((){9999}){9999} ends here

const CharacterSet kDigits{{'0', '9'}}, kWord{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
// WhiteSpace and LineTerminator of ECMA-262.
const CharacterSet kSpace{{0x09, 0x0D},     {0x20, 0x20},     {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
                          {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
const CharacterSet kLineEnds{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};

// The tree of a pattern. Only a set reads a character, and ^ and $ read nothing.
struct Part;
using PartPointer = std::unique_ptr<Part>;
// The tree of a pattern. Repetitions keep their bounds, and become copies only at the end.
struct Part {
  enum class Kind { set, sequence, choice, repeat, begin, end } kind = Kind::sequence;
  CharacterSet set{};
  std::vector<PartPointer> parts{};
  int64_t least = 0, most = -1;
};

PartPointer part_of(Part::Kind kind) {
  auto part = std::make_unique<Part>();
  part->kind = kind;
  return part;
}

PartPointer part_of(CharacterSet set) {
  auto part = part_of(Part::Kind::set);
  part->set = std::move(set);
  return part;
}

// A reader by recursive descent, from alternatives down to single characters. Whatever it does not know is an error: a
// pattern that is read differently from the schema's author would break a promise.
class PatternReader {
 public:
  PatternReader(std::u32string text, const std::string& on) : text_(std::move(text)), on_(on) {}
  PartPointer read() {
    PartPointer whole = choice(0);
    if (!at_end()) fail("a bracket ) that nothing opens");
    return whole;
  }

 private:
  bool at_end() const { return place_ == text_.size(); }
  char32_t peek(size_t ahead = 0) const { return place_ + ahead < text_.size() ? text_[place_ + ahead] : 0; }
  bool take(char32_t code) {
    if (at_end() || text_[place_] != code) return false;
    ++place_;
    return true;
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error("this pattern cannot be used: " + what, on_ + ", character " + std::to_string(place_ + 1),
                "docs/constrained.md lists what patterns may have");
  }

  // Alternatives of a group or of the whole pattern.
  PartPointer choice(int depth) {
    if (depth > kDeepestGroup) fail("groups are nested too deep");
    auto all = part_of(Part::Kind::choice);
    do all->parts.push_back(sequence(depth));
    while (take('|'));
    return all;
  }

  PartPointer sequence(int depth) {
    auto all = part_of(Part::Kind::sequence);
    while (!at_end() && peek() != '|' && peek() != ')') all->parts.push_back(repeated(depth));
    return all;
  }

  // A quantifier belongs to the atom before it. ^ and $ take none.
  PartPointer repeated(int depth) {
    if (take('^')) return part_of(Part::Kind::begin);
    if (take('$')) return part_of(Part::Kind::end);
    PartPointer one = atom(depth);
    const std::optional<std::pair<int64_t, int64_t>> times = quantifier();
    if (!times) return one;
    take('?');  // lazy: the same texts match
    if (is_quantifier()) fail("a quantifier after another one");
    auto all = part_of(Part::Kind::repeat);
    std::tie(all->least, all->most) = *times;
    all->parts.push_back(std::move(one));
    return all;
  }

  bool is_quantifier() const { return !at_end() && (peek() == '*' || peek() == '+' || peek() == '?'); }

  // The least and the most number of times; -1: without an end. Absent: no quantifier is here.
  std::optional<std::pair<int64_t, int64_t>> quantifier() {
    if (take('*')) return std::pair<int64_t, int64_t>(0, -1);
    if (take('+')) return std::pair<int64_t, int64_t>(1, -1);
    if (take('?')) return std::pair<int64_t, int64_t>(0, 1);
    if (peek() != '{' || at_end()) return std::nullopt;
    ++place_;
    const int64_t least = number();
    int64_t most = least;
    if (take(',')) most = peek() == '}' ? -1 : number();
    if (!take('}')) fail("a { that is no repetition");
    if (most >= 0 && most < least) fail("a repetition whose numbers fall");
    return std::pair(least, most);
  }

  // Bounded while it is read, so a long number cannot overflow.
  int64_t number() {
    int64_t value = 0;
    if (!kDigits.has(peek()) || at_end()) fail("a { that is no repetition");
    while (!at_end() && kDigits.has(peek())) {
      value = value * 10 + (text_[place_++] - '0');
      if (value > kMostRepetitions) fail("a repetition above " + std::to_string(kMostRepetitions));
    }
    return value;
  }

  // An atom is a group, a class, the dot, an escape or a character that stands for itself.
  PartPointer atom(int depth) {
    if (take('(')) return group(depth);
    if (take('[')) return part_of(char_class());
    if (take('.')) return part_of(kLineEnds.complement());
    if (take('\\')) return part_of(escape(false));
    if (is_quantifier() || peek() == '{') fail("a quantifier that nothing stands before");
    if (peek() == ']' || peek() == '}') fail("a bracket that nothing opens");
    return part_of(CharacterSet::of(text_[place_++]));
  }

  // Groups only bracket, since nothing reads what they captured. A name of a group is skipped.
  PartPointer group(int depth) {
    if (take('?')) {
      if (take('<')) {
        if (peek() == '=' || peek() == '!') fail("look-behind");
        while (!at_end() && peek() != '>') ++place_;
        if (!take('>')) fail("a name without an end");
      } else if (!take(':')) {
        fail(peek() == '=' || peek() == '!' ? "look-ahead" : "a group of an unknown kind");
      }
    }
    PartPointer inside = choice(depth + 1);
    if (!take(')')) fail("a group without an end");
    return inside;
  }

  // Exactly so many digits, small or large letters.
  char32_t hex(int digits) {
    char32_t value = 0;
    for (int i = 0; i < digits; ++i, ++place_) {
      const char32_t c = peek();
      if (c >= '0' && c <= '9')
        value = value * 16 + (c - '0');
      else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
        value = value * 16 + ((c | 0x20) - 'a' + 10);
      else
        fail("an escape without its digits");
    }
    return value;
  }

  // The forms are \u{...} and \uXXXX. Two of the latter may be a surrogate pair, which is one character.
  char32_t unicode_escape() {
    if (take('{')) {
      char32_t value = 0;
      do {
        value = value * 16 + hex(1);
        if (value > kLastCharacter) fail("a character beyond the last one");
      } while (!at_end() && peek() != '}');
      if (!take('}')) fail("an escape without an end");
      return value;
    }
    const char32_t first = hex(4);
    if (first < 0xD800 || first > 0xDBFF || peek() != '\\' || peek(1) != 'u') return first;
    place_ += 2;
    const char32_t second = hex(4);
    if (second < 0xDC00 || second > 0xDFFF) fail("half a character");
    return 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
  }

  // A class knows \b as a backspace. Outside of one it would be a word's border, which is refused.
  CharacterSet escape(bool in_class) {
    if (at_end()) fail("a \\ at the end");
    const char32_t c = text_[place_++];
    switch (c) {
      case 'd':
        return kDigits;
      case 'D':
        return kDigits.complement();
      case 'w':
        return kWord;
      case 'W':
        return kWord.complement();
      case 's':
        return kSpace;
      case 'S':
        return kSpace.complement();
      case 't':
        return CharacterSet::of('\t');
      case 'n':
        return CharacterSet::of('\n');
      case 'r':
        return CharacterSet::of('\r');
      case 'f':
        return CharacterSet::of('\f');
      case 'v':
        return CharacterSet::of('\v');
      case 'x':
        return CharacterSet::of(hex(2));
      case 'u': {
        const char32_t code = unicode_escape();
        if (is_surrogate(code)) fail("half a character");
        return CharacterSet::of(code);
      }
      case 'c': {
        const char32_t letter = peek() | 0x20;
        if (letter < 'a' || letter > 'z') fail("\\c without a letter");
        ++place_;
        return CharacterSet::of(letter & 0x1F);
      }
      case '0':
        if (!at_end() && kDigits.has(peek())) fail("an octal escape");
        return CharacterSet::of(0);
      case 'b':
        if (in_class) return CharacterSet::of('\b');
        fail("\\b, a word's border");
      default:
        if (c >= '1' && c <= '9') fail("a back reference");
        if (c >= 0x80 || kWord.has(c)) {
          std::string name = "\\";
          append_character(name, c);
          fail("the escape " + name);
        }
        return CharacterSet::of(c);
    }
  }

  // One character, or a set such as \d, which begins no range.
  CharacterSet class_atom() { return take('\\') ? escape(true) : CharacterSet::of(text_[place_++]); }

  // A range needs one character on either side. A minus in front of ] stands for itself.
  CharacterSet char_class() {
    const bool is_negated = take('^');
    std::vector<CharacterSet::Range> ranges;
    while (!at_end() && peek() != ']') {
      const CharacterSet first = class_atom();
      if (peek() != '-' || peek(1) == ']' || place_ + 1 >= text_.size()) {
        ranges.insert(ranges.end(), first.ranges().begin(), first.ranges().end());
        continue;
      }
      ++place_;
      const CharacterSet last = class_atom();
      const auto is_one = [](const CharacterSet& set) {
        return set.ranges().size() == 1 && set.ranges()[0].low == set.ranges()[0].high;
      };
      if (!is_one(first) || !is_one(last)) fail("a range between sets");
      if (first.ranges()[0].low > last.ranges()[0].low) fail("a range whose ends are swapped");
      ranges.push_back({first.ranges()[0].low, last.ranges()[0].low});
    }
    if (!take(']')) fail("a class without an end");
    const CharacterSet all(std::move(ranges));
    return is_negated ? all.complement() : all;
  }

  const std::u32string text_;
  const std::string& on_;
  size_t place_ = 0;
};

// Glushkov's automaton: a state for each place of the pattern where a character is read. `last` are the states that a
// part may end in, and `first` those that it may begin in.
class Positions {
 public:
  explicit Positions(const std::string& on) : on_(on) {}
  struct Ends {
    std::vector<int32_t> first, last;
    bool may_be_empty = true;
  };

  // Each place that reads a character is a state. Its set is what every edge to it reads.
  Ends set(const CharacterSet& set) {
    ranges_ += std::ssize(set.ranges());
    if (std::ssize(sets_) >= kMostPatternStates || ranges_ > kMostPatternRanges) too_large();
    const auto place = static_cast<int32_t>(sets_.size());
    sets_.push_back(set);
    next_.emplace_back();
    return {{place}, {place}, false};
  }
  // A part behind another one: each end of the first leads to each beginning of the second. If one may be empty, the
  // other's ends count as well.
  Ends in_order(Ends a, const Ends& b) {
    link(a.last, b.first);
    if (a.may_be_empty) a.first.insert(a.first.end(), b.first.begin(), b.first.end());
    if (!b.may_be_empty) a.last.clear();
    a.last.insert(a.last.end(), b.last.begin(), b.last.end());
    a.may_be_empty = a.may_be_empty && b.may_be_empty;
    return a;
  }
  // Either part may begin and end; none of them leads to the other.
  Ends either(Ends a, const Ends& b) {
    a.first.insert(a.first.end(), b.first.begin(), b.first.end());
    a.last.insert(a.last.end(), b.last.begin(), b.last.end());
    a.may_be_empty = a.may_be_empty || b.may_be_empty;
    return a;
  }
  // The part's ends lead back to its beginnings, and it may be left out.
  Ends any_number(Ends a) {
    link(a.last, a.first);
    a.may_be_empty = true;
    return a;
  }
  Ends anything() { return any_number(set(CharacterSet::all())); }

  // Each part is counted when it is built, so nested repetitions end with an error before they fill the memory.
  Ends part(const Part& part) {
    if (++parts_ > kMostParts) too_large();
    switch (part.kind) {
      case Part::Kind::set:
        return set(part.set);
      case Part::Kind::sequence: {
        Ends all;
        for (const PartPointer& one : part.parts) all = in_order(std::move(all), this->part(*one));
        return all;
      }
      case Part::Kind::choice: {
        Ends all = this->part(*part.parts[0]);
        for (size_t i = 1; i < part.parts.size(); ++i) all = either(std::move(all), this->part(*part.parts[i]));
        return all;
      }
      case Part::Kind::repeat:
        return repeat(part);
      case Part::Kind::begin:
      case Part::Kind::end:
        break;
    }
    throw Error("this pattern cannot be used: ^ or $ inside it", on_,
                "Put ^ first and $ last in the pattern, or in each of its alternatives");
  }

  Ends repeat(const Part& part) {
    Ends all;
    const Part& one = *part.parts[0];
    for (int64_t i = 0; i < part.least; ++i) all = in_order(std::move(all), this->part(one));
    if (part.most < 0) return in_order(std::move(all), any_number(this->part(one)));
    // x{0,3} as (x(x(x)?)?)?: from the inside out, so that the number of edges stays small.
    Ends optional;
    for (int64_t i = part.least; i < part.most; ++i) {
      optional = in_order(this->part(one), optional);
      optional.may_be_empty = true;
    }
    return in_order(std::move(all), optional);
  }

  // State 0 is the start, and state i + 1 is behind place i. All edges into a state read the same set.
  CharAutomaton finish(const Ends& whole) const {
    CharAutomaton automaton;
    automaton.states.resize(sets_.size() + 1);
    int64_t ranges = 0;  // of the sets of all edges, which are copies
    const auto count = [&](int32_t place) {
      ranges += std::ssize(sets_[static_cast<size_t>(place)].ranges());
      if (ranges > kMostPatternRanges) too_large();
    };
    std::ranges::for_each(whole.first, count);
    for (const auto& next : next_) std::ranges::for_each(next, count);
    automaton.states[0].is_end = whole.may_be_empty;
    for (const int32_t place : whole.first)
      automaton.states[0].steps.push_back({sets_[static_cast<size_t>(place)], place + 1});
    for (size_t from = 0; from < sets_.size(); ++from)
      for (const int32_t to : next_[from])
        automaton.states[from + 1].steps.push_back({sets_[static_cast<size_t>(to)], to + 1});
    for (const int32_t place : whole.last) automaton.states[static_cast<size_t>(place) + 1].is_end = true;
    automaton.check(on_);
    return automaton;
  }

 private:
  [[noreturn]] void too_large() const { throw Error("a pattern is too large", on_, "Make its repetitions smaller"); }
  // The number of edges is checked first: a product of two long lists would be made before the check otherwise.
  void link(const std::vector<int32_t>& last, const std::vector<int32_t>& first) {
    edges_ += std::ssize(last) * std::ssize(first);
    if (edges_ > kMostPatternEdges) too_large();
    if (stop_is_asked()) throw Interrupted();
    for (const int32_t from : last) {
      std::vector<int32_t>& next = next_[static_cast<size_t>(from)];
      next.insert(next.end(), first.begin(), first.end());
      std::ranges::sort(next);
      next.erase(std::unique(next.begin(), next.end()), next.end());
    }
  }
  const std::string& on_;
  std::vector<CharacterSet> sets_;
  std::vector<std::vector<int32_t>> next_;
  int64_t edges_ = 0, parts_ = 0, ranges_ = 0;
};

// An alternative that has no ^ may begin anywhere, and one that has no $ may end anywhere. A group that is a whole
// alternative is looked into, as in (^a$)|(^b$).
Positions::Ends alternative(Positions& positions, const Part& part) {
  if (part.kind == Part::Kind::choice) {
    Positions::Ends all = alternative(positions, *part.parts[0]);
    for (size_t i = 1; i < part.parts.size(); ++i)
      all = positions.either(std::move(all), alternative(positions, *part.parts[i]));
    return all;
  }
  if (part.kind == Part::Kind::sequence && part.parts.size() == 1 && part.parts[0]->kind == Part::Kind::choice)
    return alternative(positions, *part.parts[0]);
  size_t first = 0, last = part.parts.size();
  while (first < last && part.parts[first]->kind == Part::Kind::begin) ++first;
  while (last > first && part.parts[last - 1]->kind == Part::Kind::end) --last;
  Positions::Ends all;
  if (first == 0) all = positions.anything();
  for (size_t i = first; i < last; ++i) all = positions.in_order(std::move(all), positions.part(*part.parts[i]));
  if (last == part.parts.size()) all = positions.in_order(std::move(all), positions.anything());
  return all;
}

}  // namespace

// A pattern may match anywhere in a text unless it has ^ and $.
CharAutomaton parse_pattern(std::string_view pattern, const std::string& on) {
  const auto text = characters_of(pattern);
  if (!text) throw Error("this pattern is no text", on, "Write it in UTF-8");
  const PartPointer whole = PatternReader(*text, on).read();
  Positions positions(on);
  return positions.finish(alternative(positions, *whole));
}

}  // namespace tandem::constraint
