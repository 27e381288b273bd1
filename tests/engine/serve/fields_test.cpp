// Members of a request's JSON object.
#include "engine/serve/api/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename Work>
ApiError refusal(const Work& work) {
  try {
    work();
  } catch (const ApiError& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was refused";
  return ApiError(0, "");
}

TEST(Fields, of_broken_bodies_are_refused) {
  for (const char* text : {"", "[]", "7", "{", "{\"a\":}", "{} x", "\xff", "{\"a\":1,}", "nan"})
    EXPECT_EQ(refusal([&] { parse_body(text); }).status, 400) << text;
  EXPECT_THAT(refusal([] { parse_body("{\"a\":\n1,}"); }).message, HasSubstr("line 2, column 3"));
}

TEST(Fields, of_bodies_with_numbers_that_would_be_rounded_are_refused_by_their_name) {
  const ApiError error = refusal([] { parse_body(R"({"a":{"const":123456789012345678901}})"); });
  EXPECT_EQ(error.status, 400);
  EXPECT_EQ(error.param, "const");
  EXPECT_THAT(error.message, HasSubstr("64 bits"));
  EXPECT_EQ(parse_body(R"({"a":18446744073709551615})").at("a"), uint64_t{18446744073709551615U});
}

TEST(Fields, of_bodies_with_a_byte_0_or_very_many_members_are_refused) {
  EXPECT_EQ(refusal([] { parse_body(std::string_view("{}\0{}", 5)); }).status, 400);
  std::string text = "{";
  for (int i = 0; i < 5000; ++i) text += (i ? ",\"" : "\"") + std::to_string(i) + "\":0";
  EXPECT_THAT(refusal([&] { parse_body(text + "}"); }).message, HasSubstr("more than 2000 members"));
}

TEST(Fields, nest_so_deep_and_no_deeper) {
  const auto nested = [](int lists) { return "{\"a\":" + std::string(lists, '[') + std::string(lists, ']') + "}"; };
  EXPECT_NO_THROW(parse_body(nested(kDeepestBody - 1)));
  EXPECT_THAT(refusal([&] { parse_body(nested(kDeepestBody)); }).message, HasSubstr("nests deeper"));
  EXPECT_THAT(refusal([&] { parse_body(nested(1 << 20)); }).message, HasSubstr("nests deeper"));
  EXPECT_NO_THROW(parse_body("{\"a\":\"" + std::string(1000, '[') + "\\\"[[\"}")) << "brackets of texts do not count";
}

TEST(Fields, are_there_once) {
  const ApiError error = refusal([] { parse_body(R"({"a":1,"b":{"c":1},"a":2})"); });
  EXPECT_EQ(error.param, "a");
  EXPECT_NO_THROW(parse_body(R"({"a":{"c":1},"b":{"c":1},"c":[{"c":1},{"c":2}]})"));
  EXPECT_THROW(parse_body(R"({"b":{"c":1,"c":1}})"), ApiError);
}

TEST(Fields, keep_to_their_ranges_and_types) {
  const Json body = parse_body(R"({"t":0.5,"n":3,"s":"x","f":true,"big":18446744073709551615,"half":1.5,"none":null})");
  Fields fields(body);
  EXPECT_EQ(fields.number("t", 0, 1), 0.5);
  EXPECT_EQ(fields.whole("n", 1, 3), 3);
  EXPECT_EQ(fields.text("s"), "x");
  EXPECT_EQ(fields.flag("f"), true);
  EXPECT_FALSE(fields.number("none", 0, 1));
  EXPECT_FALSE(fields.text("absent"));
  EXPECT_EQ(refusal([&] { fields.number("t", 0.6, 1); }).message, "\"t\" is expected to be a number from 0.6 to 1.");
  EXPECT_EQ(refusal([&] { fields.whole("n", 4, 9); }).param, "n");
  for (const char* name : {"big", "half", "s", "f"}) EXPECT_THROW(fields.whole(name, 0, INT64_MAX), ApiError) << name;
  for (const char* name : {"s", "f"}) EXPECT_THROW(fields.number(name, 0, 1), ApiError) << name;
  EXPECT_THROW(fields.text("n"), ApiError);
  EXPECT_THROW(fields.flag("n"), ApiError);
}

TEST(Fields, that_hold_texts_take_one_or_a_list) {
  const Json body = parse_body(R"({"one":"a","two":["a","b"],"empty":[""],"mixed":["a",1]})");
  Fields fields(body);
  EXPECT_THAT(fields.texts("one", 4), ElementsAre("a"));
  EXPECT_THAT(fields.texts("two", 2), ElementsAre("a", "b"));
  EXPECT_THROW(fields.texts("two", 1), ApiError);
  EXPECT_THROW(fields.texts("empty", 4), ApiError);
  EXPECT_THROW(fields.texts("mixed", 4), ApiError);
}

TEST(Fields, that_nobody_knows_are_refused_by_name) {
  const Json body = parse_body(R"({"known":1,"user":"x","temprature":1})");
  Fields fields(body, "place");
  fields.whole("known", 0, 1);
  const ApiError error = refusal([&] { fields.finish({"user"}, false); });
  EXPECT_EQ(error.status, 400);
  EXPECT_EQ(error.param, "place.temprature");
  EXPECT_THAT(fields.finish({"user"}, true), ElementsAre("place.temprature"));
}

TEST(Fields, that_are_null_ask_for_nothing_where_their_name_is_known) {
  const Json body = Json::parse(R"({"audio":null})"), asks = Json::parse(R"({"audio":{}})");
  EXPECT_TRUE(Fields(body).finish({}, false, {"audio"}).empty());
  EXPECT_THROW(Fields(body).finish({}, false, {"video"}), ApiError);
  EXPECT_THROW(Fields(asks).finish({}, false, {"audio"}), ApiError);
}

TEST(Fields, have_errors_in_the_official_form) {
  EXPECT_EQ(ApiError(400, "No.", "n", "invalid_value").response().body,
            R"({"error":{"message":"No.","type":"invalid_request_error","param":"n","code":"invalid_value"}})");
  EXPECT_EQ(ApiError(429, "Later.").response().body,
            R"({"error":{"message":"Later.","type":"rate_limit_error","param":null,"code":null}})");
}

}  // namespace
}  // namespace tandem::serve
