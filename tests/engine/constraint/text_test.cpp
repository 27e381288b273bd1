#include <gtest/gtest.h>

#include "engine/constraint/text/code_points.h"
#include "engine/constraint/text/digit_ranges.h"

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
  CharacterSet all = set;
  all.add(rest);
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

}  // namespace
}  // namespace tandem::constraint
