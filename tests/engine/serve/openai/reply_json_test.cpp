// Parts of answers in the form of chats.
#include "engine/serve/openai/reply_json.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/engine/serve/openai/cuts.h"

namespace tandem::serve {
namespace {

TEST(ReplyJson, of_a_message_has_what_was_written_and_no_more) {
  EXPECT_EQ(message_json({content("Hi"), content("!")}, "chatcmpl-1", 0).dump(),
            R"({"role":"assistant","content":"Hi!"})");
  EXPECT_EQ(message_json({}, "chatcmpl-1", 0).dump(), R"({"role":"assistant","content":""})");
  EXPECT_EQ(message_json({thought("Hm."), content("Hi")}, "chatcmpl-1", 0).dump(),
            R"({"role":"assistant","content":"Hi","reasoning_content":"Hm."})");
  const std::string id = call_id("chatcmpl-1", 0, 0);
  EXPECT_EQ(message_json({call_of("f", "{}")}, "chatcmpl-1", 0).dump(),
            R"({"role":"assistant","content":null,"tool_calls":[{"id":")" + id +
                R"(","type":"function","function":{"name":"f","arguments":"{}"}}]})");
}

TEST(ReplyJson, of_a_delta_has_one_part) {
  EXPECT_EQ(delta_json(content("a\"b"), "c-1", 0, 0).dump(), R"({"content":"a\"b"})");
  EXPECT_EQ(delta_json(thought("t"), "c-1", 0, 0).dump(), R"({"reasoning_content":"t"})");
  EXPECT_EQ(delta_json(call_of("f", R"({"a":1})"), "c-1", 1, 2).dump(),
            R"({"tool_calls":[{"index":2,"id":")" + call_id("c-1", 1, 2) +
                R"(","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]})");
  EXPECT_EQ(delta_json({ReplyPart::Kind::arguments, "{\"a"}, "c-1", 1, 3).dump(),
            R"({"tool_calls":[{"index":2,"function":{"arguments":"{\"a"}}]})")
      << "more of the third call's arguments";
}

TEST(ReplyJson, names_each_call_by_nine_letters_or_digits) {
  std::set<std::string> ids;
  for (int64_t answer = 0; answer < 20; ++answer)
    for (int64_t choice = 0; choice < 4; ++choice)
      for (int64_t call = 0; call < 4; ++call) {
        const std::string id = call_id("chatcmpl-" + std::to_string(answer), choice, call);
        EXPECT_EQ(id.size(), 9u);
        EXPECT_EQ(id.find_first_not_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"),
                  std::string::npos);
        EXPECT_TRUE(ids.insert(id).second) << id;
      }
}

}  // namespace
}  // namespace tandem::serve
