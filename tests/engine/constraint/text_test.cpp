#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "engine/constraint/text/code_points.h"
#include "engine/constraint/text/digit_ranges.h"
#include "engine/constraint/text/text_pieces.h"

namespace tandem::constraint {
namespace {

TEST(Characters, are_read_from_well_formed_text_alone) {
  EXPECT_EQ(characters_of("a\u00e9\u4f60\U0001F600"), U"a\u00e9\u4f60\U0001F600");
  for (const char* bad : {"\x80", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xC3", "\xF8"})
    EXPECT_FALSE(characters_of(bad)) << bad;
  for (const char32_t code : {U'a', U'\u07ff', U'\u0800', U'\uffff', U'\U00010000', U'\U0010ffff'}) {
    std::string text;
    append_character(text, code);
    EXPECT_EQ(characters_of(text), std::u32string(1, code));
  }
}

TEST(CharacterSet, has_a_complement_without_surrogates) {
  CharacterSet set{{'a', 'c'}, {'d', 'f'}, {0xD000, 0xE001}};
  EXPECT_EQ(set.ranges().size(), 3u);  // a-f, and on both sides of the surrogates
  const CharacterSet rest = set.complement();
  for (const char32_t code : {U'a', U'f', U'\ud7ff', U'\ue000'}) EXPECT_TRUE(set.has(code) && !rest.has(code));
  for (const char32_t code : {U'`', U'g', U'\ue002', U'\U0010ffff', U'\0'})
    EXPECT_TRUE(!set.has(code) && rest.has(code));
  EXPECT_FALSE(rest.has(0xD800));
  EXPECT_TRUE(set.common_with(rest).empty());
  std::vector<CharacterSet::Range> both = rest.ranges();  // out of order
  both.insert(both.end(), set.ranges().begin(), set.ranges().end());
  const CharacterSet all(std::move(both));
  EXPECT_EQ(all, CharacterSet::all());
}

TEST(DigitRanges, cover_each_number_once) {
  const uint32_t bases[] = {4, 10, 16};
  for (uint64_t low = 0; low < 640; low += 13)
    for (uint64_t high = low; high < 640; high += 29) {
      const auto ranges = digit_ranges(low, high, bases);
      for (uint32_t n = 0; n < 640; ++n) {
        const uint32_t digits[] = {n / 160, n / 16 % 10, n % 16};
        int in = 0;
        for (const DigitRanges& one : ranges) {
          bool is_in = true;
          for (size_t i = 0; i < 3; ++i) is_in = is_in && one[i].low <= digits[i] && digits[i] <= one[i].high;
          in += is_in;
        }
        ASSERT_EQ(in, low <= n && n <= high ? 1 : 0) << n << " in " << low << " to " << high;
      }
    }
}

// A class of a schema may have as many ranges as its text has characters, and sorting them anew for each took hours.
TEST(CharacterSet, of_many_ranges_in_any_order_is_sorted_once) {
  std::vector<CharacterSet::Range> ranges;
  for (char32_t code = 0x10000; code > 0x1000; code -= 2) ranges.push_back({code, code});
  const CharacterSet set(std::move(ranges));
  EXPECT_TRUE(std::ranges::is_sorted(set.ranges()));
  EXPECT_TRUE(set.has(0x1002) && !set.has(0x1003));
}

// A piece that has a state of its own, a loop at its begin, and a call of a rule that the first piece adds.
struct PieceWithRule {
  RuleId rule = -1;
  int made = 0;
  void operator()(RuleNet& net, StateId from, StateId to) {
    ++made;
    if (rule < 0) {
      rule = net.add_rule("letter");
      net.add_byte(net.start(rule), 'a', 'z', net.end(rule));
    }
    const StateId inside = net.add_state();
    net.add_byte(from, ' ', ' ', from);
    net.add_call(from, rule, inside);
    net.add_byte(inside, '0', '9', to);
  }
};

TEST(RepeatedPieces, are_copies_that_equal_the_pieces) {
  for (const auto& [least, most] : {std::pair{7, 7}, {0, 6}, {3, 9}, {5, -1}, {2, -1}}) {
    RuleNet net;
    const RuleId root = net.add_rule("root");
    PieceWithRule piece;
    add_repeated(net, net.start(root), least, most, std::ref(piece), net.end(root));
    EXPECT_LE(piece.made, most < 0 ? 3 : 2) << "a loop has one more";

    RuleNet plain;
    EXPECT_EQ(plain.add_rule("root"), root);
    PieceWithRule again;
    StateId from = plain.start(root);
    const auto lay = [&] {
      const StateId begin = from;
      from = plain.add_state();
      again(plain, begin, from);
    };
    for (int i = 0; i < least; ++i) lay();
    if (most < 0) {
      const StateId loop = plain.add_state();
      plain.add_nothing(from, loop);
      again(plain, loop, loop);
      plain.add_nothing(loop, plain.end(root));
    } else {
      for (int i = least; i < most; ++i) {
        plain.add_nothing(from, plain.end(root));
        lay();
      }
      plain.add_nothing(from, plain.end(root));
    }
    EXPECT_EQ(net.states(), plain.states());
    ASSERT_EQ(net.edges().size(), plain.edges().size()) << least << " to " << most;
    for (size_t i = 0; i < net.edges().size(); ++i) {
      const Edge &one = net.edges()[i], &other = plain.edges()[i];
      EXPECT_TRUE(one.from == other.from && one.to == other.to && one.rule == other.rule && one.low == other.low &&
                  one.high == other.high && one.kind == other.kind)
          << "edge " << i << " of " << least << " to " << most;
    }
  }
}

}  // namespace
}  // namespace tandem::constraint
