#include "engine/model/tokenizer/utf8.h"

#include <gtest/gtest.h>

#include <set>

#include "engine/model/tokenizer.h"
#include "engine/model/tokenizer/byte_map.h"

namespace tandem {
namespace {

const std::string kMixed = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\xA6\x99z\xEF\xBF\xBD";  // a é € 🦙 z U+FFFD

std::string streamed(std::string_view bytes, const std::vector<size_t>& cuts) {
  Utf8Stream stream;
  std::string out;
  size_t at = 0;
  for (const size_t cut : cuts) {
    out += stream.push(bytes.substr(at, cut - at));
    at = cut;
  }
  out += stream.push(bytes.substr(at));
  return out + stream.flush();
}

TEST(Utf8, counts_whole_characters_and_refuses_the_forms_that_are_not_strict) {
  struct Case {
    std::string bytes;
    size_t length;
    utf8::Kind kind;
  };
  const auto character = utf8::Kind::character, invalid = utf8::Kind::invalid, unfinished = utf8::Kind::unfinished;
  const Case cases[] = {
      {"a", 1, character},
      {"\xC3\xA9x", 2, character},
      {"\xE2\x82\xAC", 3, character},
      {"\xF0\x9F\xA6\x99", 4, character},
      {"\x80", 1, invalid},
      {"\xC0\x80", 1, invalid},          // overlong
      {"\xE0\x80\x80", 1, invalid},      // overlong
      {"\xED\xA0\x80", 1, invalid},      // surrogate
      {"\xF4\x90\x80\x80", 1, invalid},  // above U+10FFFF
      {"\xF5", 1, invalid},
      {"\xF0\x9F\xA6x", 3, invalid},
      {"\xF0\x9F\xA6", 3, unfinished},
      {"\xE2", 1, unfinished},
  };
  for (const Case& c : cases) {
    const utf8::Step step = utf8::step(c.bytes);
    EXPECT_EQ(step.length, c.length) << ::testing::PrintToString(c.bytes);
    EXPECT_EQ(step.kind, c.kind) << ::testing::PrintToString(c.bytes);
  }
}

TEST(Utf8, writes_the_code_point_it_read) {
  for (const char32_t point : {0x0, 0x41, 0x7F, 0x80, 0x7FF, 0x800, 0xFFFD, 0x10000, 0x10FFFF}) {
    std::string text;
    utf8::append(text, point);
    ASSERT_EQ(utf8::step(text).kind, utf8::Kind::character);
    EXPECT_EQ(utf8::step(text).length, text.size());
    EXPECT_EQ(utf8::code_point(text), point);
  }
}

TEST(Utf8Stream, gives_the_text_and_never_half_a_character_wherever_it_is_cut) {
  for (size_t first = 0; first <= kMixed.size(); ++first) {
    for (size_t second = first; second <= kMixed.size(); ++second) {
      Utf8Stream stream;
      std::string all;
      size_t at = 0;
      for (const size_t cut : {first, second, kMixed.size()}) {
        const std::string out = stream.push(std::string_view(kMixed).substr(at, cut - at));
        EXPECT_EQ(utf8::masked(out, '?'), out) << "cut at " << first << " and " << second;
        all += out;
        at = cut;
      }
      EXPECT_EQ(all, kMixed) << "cut at " << first << " and " << second;
      EXPECT_EQ(stream.flush(), "");
    }
  }
}

TEST(Utf8Stream, replaces_broken_bytes_the_same_way_wherever_it_is_cut) {
  const std::string broken = "a\xFF\xF0\x9F\xA6z\xC3\xE2\x82\xAC\x80\xF0\x9F";
  const std::string expected = "a\xEF\xBF\xBD\xEF\xBF\xBDz\xEF\xBF\xBD\xE2\x82\xAC\xEF\xBF\xBD\xEF\xBF\xBD";
  for (size_t first = 0; first <= broken.size(); ++first) {
    for (size_t second = first; second <= broken.size(); ++second) {
      EXPECT_EQ(streamed(broken, {first, second}), expected) << "cut at " << first << " and " << second;
    }
  }
}

TEST(ByteMap, has_one_printable_character_for_each_byte) {
  std::set<std::string> seen;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string& character = byte_map::character_of(static_cast<uint8_t>(byte));
    EXPECT_TRUE(seen.insert(character).second);
    EXPECT_EQ(byte_map::bytes_of(character), std::string(1, static_cast<char>(byte)));
  }
  EXPECT_EQ(byte_map::character_of(' '), "Ġ");
  EXPECT_EQ(byte_map::character_of('\n'), "Ċ");
  EXPECT_EQ(byte_map::character_of(0xAD), "Ń");
  EXPECT_EQ(byte_map::character_of('A'), "A");
}

TEST(ByteMap, leaves_characters_outside_the_table_as_they_are) { EXPECT_EQ(byte_map::bytes_of("Ġ｜▁"), " ｜▁"); }

}  // namespace
}  // namespace tandem
