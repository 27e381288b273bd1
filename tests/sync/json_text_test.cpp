#include "sync/json_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sync/error.h"
#include "tests/support/scratch_folder.h"

namespace tandem {
namespace {

using ::testing::HasSubstr;

std::string nested(int levels) {
  return std::string(static_cast<size_t>(levels), '[') + std::string(static_cast<size_t>(levels), ']');
}

std::string failure(const std::string& path) {
  try {
    read_json_file(path, "the profile");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(JsonText, is_read_to_a_depth_that_can_be_copied) {
  EXPECT_TRUE(parse_json(nested(kMostJsonDepth)).is_array());
  EXPECT_TRUE(parse_json(nested(kMostJsonDepth + 1)).is_discarded());
  EXPECT_TRUE(parse_json(nested(1000000)).is_discarded());
  EXPECT_TRUE(parse_json(std::string(1000000, '{')).is_discarded());
}

TEST(JsonText, counts_no_brackets_inside_strings) {
  const std::string brackets(100, '[');
  EXPECT_EQ(parse_json(R"({"a\"[": ")" + brackets + R"(\\"})").at("a\"["), brackets + "\\");
  EXPECT_TRUE(parse_json("{\"\": \"\\\\\", \"a\": " + nested(40) + "}").is_discarded()) << "the string ends here";
}

TEST(JsonText, of_very_many_keys_is_an_object) {
  std::string text = "{";
  for (int i = 0; i < 200000; ++i) text += (i ? ",\"" : "\"") + std::to_string(i) + "\":{}";
  EXPECT_EQ(parse_json(text + "}").size(), 200000u);
}

TEST(JsonText, that_is_none_is_discarded) {
  for (const char* text : {"", "{", "{]", "\"", "\"\\", "1e999", "\xff", "[1,]", "nan"}) {
    EXPECT_TRUE(parse_json(text).is_discarded()) << text;
  }
}

TEST(JsonText, with_a_byte_0_is_discarded) {
  const std::string behind = std::string("{\"a\": 1}") + '\0' + "{}",
                    inside = std::string("{\"a\": \"b") + '\0' + "\"}";
  EXPECT_TRUE(parse_json(behind).is_discarded());
  EXPECT_TRUE(parse_json(inside).is_discarded());
  EXPECT_EQ(parse_json("{\"a\": \"\\u0000\"}").at("a"), std::string(1, '\0'));
}

JsonFlaw::Kind flaw_of(std::string_view text, int depth = 8) { return json_flaw(text, depth).kind; }

std::string many_members(size_t count) {
  std::string text = "{";
  for (size_t i = 0; i < count; ++i) text += (i ? ",\"" : "\"") + std::to_string(i) + "\":0";
  return text + "}";
}

TEST(JsonFlaw, is_told_by_its_kind_before_a_value_is_built) {
  using enum JsonFlaw::Kind;
  EXPECT_EQ(flaw_of(R"({"a": [1, {"a": null}], "b": "[["})"), none);
  EXPECT_EQ(flaw_of(nested(8)), none);
  EXPECT_EQ(flaw_of(nested(9)), depth);
  EXPECT_EQ(flaw_of(R"({"b": {"a": 1, "a": 2}})"), twice);
  EXPECT_EQ(json_flaw(R"({"b": {"a": 1, "a": 2}})", 8).detail, "a");
  EXPECT_EQ(flaw_of(R"([{"a": 1}, {"a": 2}])"), none) << "of two objects";
  EXPECT_EQ(flaw_of(many_members(kMostJsonMembers)), none);
  EXPECT_EQ(flaw_of(many_members(kMostJsonMembers + 1)), members);
  for (const char* text : {"", "{", "[1,]", "1 2", "\xff", "1e999"}) EXPECT_EQ(flaw_of(text), syntax) << text;
  EXPECT_EQ(flaw_of(std::string_view("{}\0{}", 5)), syntax);
  EXPECT_THAT(json_flaw("[1,]", 8).detail, HasSubstr("syntax error"));
}

TEST(JsonFlaw, is_a_whole_number_that_a_parser_rounds) {
  using enum JsonFlaw::Kind;
  for (const char* kept : {"18446744073709551615", "-9223372036854775808", "1e30", "0.12345678901234567890", "1e-400"})
    EXPECT_EQ(flaw_of(kept), none) << kept;
  for (const char* rounded : {"18446744073709551616", "-9223372036854775809", "[1, 123456789012345678901234]"})
    EXPECT_EQ(flaw_of(rounded), digits) << rounded;
  EXPECT_EQ(json_flaw(R"({"a": 1, "b": {"c": [0, 18446744073709551616], "d": 2}})", 8).detail, "c");
  EXPECT_EQ(json_flaw(R"({"b": {"c": 1}, "d": 18446744073709551616})", 8).detail, "d");
  EXPECT_EQ(flaw_of(R"({"a": 18446744073709551616, "a": 2})"), twice) << "another flaw counts more";
}

// A parser that looked through a list at each of its objects would take a time with the square of their number.
TEST(JsonFlaw, is_looked_for_in_long_lists_of_objects) {
  std::string text = "[{}";
  for (int i = 0; i < 1000000; ++i) text += ",{}";
  EXPECT_EQ(flaw_of(text + "]"), JsonFlaw::Kind::none);
}

TEST(JsonFile, that_never_ends_is_refused) {
  EXPECT_THAT(failure("/dev/zero"), HasSubstr("expected a regular file"));
  EXPECT_THAT(failure(tandem::testing::ScratchFolder().path()), HasSubstr("expected a regular file"));
  EXPECT_THAT(failure("/nowhere/missing.json"), HasSubstr("cannot open the profile: /nowhere/missing.json"));
}

TEST(JsonFile, is_refused_above_the_largest_size_and_read_up_to_it) {
  const tandem::testing::ScratchFolder folder;
  const std::string path = folder.file("large.json");
  std::ofstream(path) << "{}";
  EXPECT_EQ(read_json_file(path, "the profile"), "{}");
  std::filesystem::resize_file(path, kMostJsonBytes);
  EXPECT_EQ(read_json_file(path, "the profile").size(), kMostJsonBytes);
  std::filesystem::resize_file(path, kMostJsonBytes + 1);
  EXPECT_THAT(failure(path), HasSubstr("at most"));
}

}  // namespace
}  // namespace tandem
