// The forms of answers, to the letter.
#include "engine/serve/api/answer.h"

#include <gtest/gtest.h>

namespace tandem::serve {
namespace {

const AnswerHead kChat{true, "chatcmpl-1", "m", 7}, kText{false, "cmpl-1", "m", 7};

TEST(Answers, that_are_whole_have_all_choices_and_the_usage) {
  EXPECT_EQ(whole_answer(kChat, {{"hi", StopReason::end_of_text}}, {5, 2, 3}).dump(),
            R"({"id":"chatcmpl-1","object":"chat.completion","created":7,"model":"m","choices":[{"index":0,)"
            R"("message":{"role":"assistant","content":"hi"},"logprobs":null,"finish_reason":"stop"}],)"
            R"("usage":{"prompt_tokens":5,"completion_tokens":3,"total_tokens":8,)"
            R"("prompt_tokens_details":{"cached_tokens":2}}})");
  EXPECT_EQ(
      whole_answer(kText, {{"a", StopReason::length}, {"b", StopReason::stop_string}}, {1, 0, 2})["choices"].dump(),
      R"([{"index":0,"text":"a","logprobs":null,"finish_reason":"length"},)"
      R"({"index":1,"text":"b","logprobs":null,"finish_reason":"stop"}])");
}

TEST(Answers, in_chunks_have_a_reason_at_the_end_alone) {
  const std::string head = R"({"id":"chatcmpl-1","object":"chat.completion.chunk","created":7,"model":"m",)";
  EXPECT_EQ(first_chunk(kChat, 1).dump(),
            head + R"("choices":[{"index":1,"delta":{"role":"assistant","content":""},"logprobs":null,)"
                   R"("finish_reason":null}]})");
  EXPECT_EQ(text_chunk(kChat, 0, "x").dump(),
            head + R"("choices":[{"index":0,"delta":{"content":"x"},"logprobs":null,"finish_reason":null}]})");
  EXPECT_EQ(last_chunk(kChat, 0, finish_reason(StopReason::context_full)).dump(),
            head + R"("choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"length"}]})");
  EXPECT_EQ(text_chunk(kText, 0, "x")["choices"].dump(),
            R"([{"index":0,"text":"x","logprobs":null,"finish_reason":null}])");
  Generation first;
  first.ids = {1, 2};
  first.drafts.drafts = 5;
  first.drafts.accepted = 3;
  first.drafts.passes = 2;
  const Json last = usage_chunk(kText, {1, 0, 2}, first);
  EXPECT_EQ(last["choices"].dump(), "[]");
  EXPECT_EQ(last["usage"]["total_tokens"], 3);
  EXPECT_EQ(last["timings"]["predicted_n"], 2);
  EXPECT_EQ(last["timings"]["draft_n"], 5);
  EXPECT_EQ(last["timings"]["draft_n_accepted"], 3);
  EXPECT_EQ(last["timings"]["draft_passes"], 2);
}

// "é" has two bytes and is one character, so the third token begins at character 2 behind an offset of 0.
TEST(Answers, name_likely_tokens_in_both_official_forms) {
  const std::vector<AnsweredToken> tokens = {
      {"a", -0.5f, {{"a", -0.5f}, {"b", -1}}}, {"\xC3\xA9", -0.25f, {}}, {"c", 0, {}}};
  int64_t offset = 0;
  EXPECT_EQ(logprobs_json(kText, tokens, offset).dump(),
            R"({"tokens":["a","é","c"],"token_logprobs":[-0.5,-0.25,0.0],)"
            R"("top_logprobs":[{"a":-0.5,"b":-1.0},{},{}],"text_offset":[0,1,2]})");
  EXPECT_EQ(offset, 3);
  EXPECT_EQ(
      logprobs_json(kChat, {tokens[0]}, offset).dump(),
      R"({"content":[{"token":"a","logprob":-0.5,"bytes":[97],"top_logprobs":[)"
      R"({"token":"a","logprob":-0.5,"bytes":[97]},{"token":"b","logprob":-1.0,"bytes":[98]}]}],"refusal":null})");
}

TEST(Answers, of_broken_bytes_are_still_utf_8) {
  EXPECT_NE(event_of(text_chunk(kText, 0, "\xff")).find("\xEF\xBF\xBD"), std::string::npos);
  EXPECT_TRUE(event_of(text_chunk(kText, 0, "a\n\n")).ends_with("\n\n"));
  EXPECT_EQ(event_of(text_chunk(kText, 0, "a\n\nb")).find("\n\n"), event_of(text_chunk(kText, 0, "a\n\nb")).size() - 2)
      << "a text's empty line does not end an event";
}

}  // namespace
}  // namespace tandem::serve
