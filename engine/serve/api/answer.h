// Answers to requests for texts, in OpenAI's form: whole objects, and the chunks of a stream.
//
// Contract: pure. Texts are UTF-8; broken bytes become U+FFFD.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/serve/api/fields.h"
#include "tandem/generate.h"

namespace tandem::serve {

// The members that all chunks of an answer share.
struct AnswerHead {
  bool is_chat = false;
  std::string id, model;
  int64_t created = 0;  // seconds since 1970
};

struct Usage {
  int64_t prompt_tokens = 0, cached_tokens = 0, completion_tokens = 0;
};

// A token of an answer with its probability (tandem/generate.h). A piece has the bytes of a token, which may be a part
// of a character.
struct AnsweredToken {
  std::string piece;
  float logprob = 0;
  std::vector<std::pair<std::string, float>> likely{};
  bool is_first = false;  // of an echoed prompt: nothing stands before it, so it has no probability
};

struct AnsweredChoice {
  std::string text;
  StopReason reason = StopReason::length;
  std::optional<std::vector<AnsweredToken>> tokens{};  // nothing: probabilities were not asked for
  Json message{};                                      // of a chat; null: the text alone
  bool has_calls = false;                              // of functions
  int64_t offset = 0;                                  // characters of an echoed prompt in front of the tokens
};

Json bytes_json(const std::string& piece);       // [195, 169]
int64_t characters_of(const std::string& text);  // of UTF-8
bool is_cut(StopReason reason);                  // by the limit of tokens, or from outside
// "stop", "length"; "tool_calls" if the text ended by itself and has calls.
const char* finish_reason(StopReason reason, bool has_calls = false);
Json usage_json(const Usage& usage);
// llama.cpp's `timings`, measured.
Json timings_json(const Generation& generation);
Json whole_answer(const AnswerHead& head, const std::vector<AnsweredChoice>& choices, const Usage& usage);
// index: of the choice. The first chunk of a chat says whose message it is; the last one has a reason and no text.
Json first_chunk(const AnswerHead& head, int64_t index);
Json text_chunk(const AnswerHead& head, int64_t index, std::string_view text, const Json& logprobs = nullptr);
Json delta_chunk(const AnswerHead& head, int64_t index, const Json& delta, const Json& logprobs = nullptr);
Json last_chunk(const AnswerHead& head, int64_t index, const char* finish_reason, const Json& logprobs = nullptr);
// The two official forms of probabilities. offset: characters of the choice in front of the first token; the function
// adds those of the tokens.
Json logprobs_json(const AnswerHead& head, const std::vector<AnsweredToken>& tokens, int64_t& offset);
// first: the choice whose times are those of the chunk.
Json usage_chunk(const AnswerHead& head, const Usage& usage, const Generation& first);
std::string event_of(const Json& chunk);  // "data: {...}\n\n"
inline constexpr const char* kStreamEnd = "data: [DONE]\n\n";

}  // namespace tandem::serve
