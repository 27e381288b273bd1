// Calls as models write them.
#include "engine/serve/openai/written_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/serve/openai/cuts.h"

namespace tandem::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(CallHead, is_a_name_and_the_beginning_of_arguments) {
  const std::string text = " {\"name\": \"f\\u0061\", \"arguments\" : {\"x";
  const auto head = call_head(text);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->function, "fa");
  EXPECT_EQ(text.substr(head->arguments), "{\"x");
}

TEST(CallHead, is_absent_where_a_part_is_missing_or_another) {
  const std::string head = "{\"name\":\"f\",\"arguments\":{";
  EXPECT_TRUE(call_head(head));
  for (size_t length = 0; length < head.size(); ++length) EXPECT_FALSE(call_head(head.substr(0, length))) << length;
  for (const char* other :
       {"[\"name\":\"f\",\"arguments\":{", "{\"name\":1,\"arguments\":{", "{\"name\":\"\",\"arguments\":{",
        "{\"arguments\":{}", "{\"name\":\"f\",\"arguments\":[", "{\"name\":\"f\":\"arguments\":{"})
    EXPECT_FALSE(call_head(other)) << other;
  EXPECT_FALSE(call_head("{\"name\":\"" + std::string(1000, 'f') + "\",\"arguments\":{")) << "no name is so long";
}

TEST(WrittenCall, keeps_the_spelling_of_its_arguments) {
  EXPECT_EQ(read_call(R"( {"name": "f", "arguments": {"a": 1.50, "b": [12345678901234567890123, "}"]} } )"),
            call_of("f", R"({"a": 1.50, "b": [12345678901234567890123, "}"]})"));
  EXPECT_EQ(read_call(R"({"parameters":{"x":"\"{"},"name":"g\u0041"})"), call_of("gA", R"({"x":"\"{"})"));
}

TEST(WrittenCall, may_have_no_arguments_or_have_them_as_a_text) {
  EXPECT_EQ(read_call(R"({"name":"f"})"), call_of("f", "{}"));
  EXPECT_EQ(read_call(R"({"name":"f","arguments":" {\"a\":1}"})"), call_of("f", R"({"a":1})"));
}

TEST(WrittenCall, of_another_form_is_none) {
  for (const char* text :
       {"", "{}", "[]", "7", R"({"name":""})", R"({"name":7})", R"({"name":"f","arguments":[1]})",
        R"({"name":"f","arguments":"no"})", R"({"name":"f","arguments":7})", R"({"name":"f",})", R"({"name":"f"} x)",
        R"({"arguments":{}})", "{\"name\":\"\xff\"}", R"({"name":"f","arguments":{]})"})
    EXPECT_FALSE(read_call(text)) << text;
}

TEST(WrittenCall, nests_so_deep_and_no_deeper) {
  const auto nested = [](size_t lists) {
    return R"({"name":"f","arguments":{"a":)" + std::string(lists, '[') + std::string(lists, ']') + "}}";
  };
  EXPECT_TRUE(read_call(nested(kDeepestCall - 2)));
  EXPECT_FALSE(read_call(nested(kDeepestCall - 1)));
  EXPECT_FALSE(read_call(nested(1 << 20)));
}

TEST(WrittenCall, stands_in_a_list_with_others) {
  EXPECT_THAT(read_calls(R"([{"name":"f"} , {"name":"g","arguments":{"a":1}}])"),
              ElementsAre(call_of("f", "{}"), call_of("g", R"({"a":1})")));
  EXPECT_THAT(read_calls(R"([{"name":"f"},7])"), IsEmpty());
  EXPECT_THAT(read_calls("[]"), IsEmpty());
}

TEST(WrittenCall, ends_at_its_last_bracket) {
  JsonEnd end;
  EXPECT_FALSE(end.find(R"({"a":"}\")"));
  EXPECT_FALSE(end.find(R"({"a":"}\"]","b":{)"));
  EXPECT_EQ(end.find(R"({"a":"}\"]","b":{}} more)"), 19u);
}

}  // namespace
}  // namespace tandem::serve
