// Answers of /v1/completions and /v1/chat/completions as JSON. The two routes differ in names and nesting alone, so
// each function asks the head which one it writes for.
#include "engine/serve/api/answer.h"

#include <algorithm>
#include <utility>

#include "sync/json_text.h"

namespace tandem::serve {
namespace {

// A client tells whole answers from chunks by the member "object".
Json head_json(const AnswerHead& head, bool is_chunk) {
  const char* object = !head.is_chat ? "text_completion" : is_chunk ? "chat.completion.chunk" : "chat.completion";
  return {{"id", head.id}, {"object", object}, {"created", head.created}, {"model", head.model}};
}

// said: {"delta": ...} or {"text": ...}. reason: null until the end.
Json chunk_json(const AnswerHead& head, int64_t index, const Json& said, const Json& logprobs, const Json& reason) {
  Json choice = {{"index", index}};
  choice.update(said);
  choice["logprobs"] = logprobs;
  choice["finish_reason"] = reason;
  Json chunk = head_json(head, true);
  chunk["choices"] = Json::array({std::move(choice)});
  return chunk;
}

// A chat's message may have calls and thoughts, and then it comes ready from reply_json.h.
Json choice_json(const AnswerHead& head, int64_t index, const AnsweredChoice& choice) {
  Json object = {{"index", index}};
  if (head.is_chat)
    object["message"] =
        choice.message.is_null() ? Json{{"role", "assistant"}, {"content", choice.text}} : choice.message;
  else
    object["text"] = choice.text;
  int64_t offset = choice.offset;
  object["logprobs"] = choice.tokens ? logprobs_json(head, *choice.tokens, offset) : Json();
  object["finish_reason"] = finish_reason(choice.reason, choice.has_calls);
  return object;
}

Json token_json(const std::string& piece, float logprob) {
  return {{"token", piece}, {"logprob", logprob}, {"bytes", bytes_json(piece)}};
}

// The form of a chat: an object for each token, with the likely tokens in a list.
Json chat_logprobs(const std::vector<AnsweredToken>& tokens) {
  Json content = Json::array();
  for (const AnsweredToken& each : tokens) {
    Json token = token_json(each.piece, each.logprob);
    token["top_logprobs"] = Json::array();
    for (const auto& [piece, logprob] : each.likely) token["top_logprobs"].push_back(token_json(piece, logprob));
    content.push_back(std::move(token));
  }
  return {{"content", std::move(content)}, {"refusal", nullptr}};
}

double a_second(int64_t tokens, double seconds) { return seconds > 0 ? static_cast<double>(tokens) / seconds : 0; }

}  // namespace

Json bytes_json(const std::string& piece) {
  Json bytes = Json::array();
  for (const char c : piece) bytes.push_back(static_cast<unsigned char>(c));
  return bytes;
}

// Counts the bytes that begin a character. Offsets of the official form count characters, not bytes.
int64_t characters_of(const std::string& text) {
  return std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

// Every reason but an end token and a stop text counts as cut, such as the limit of tokens or a full context.
bool is_cut(StopReason reason) { return reason != StopReason::end_of_text && reason != StopReason::stop_string; }

const char* finish_reason(StopReason reason, bool has_calls) {
  return is_cut(reason) ? "length" : has_calls ? "tool_calls" : "stop";
}

Json usage_json(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens}}}};
}

// The first token comes from the last pass of the prompt. So the time behind the prompt is that of one token fewer.
Json timings_json(const Generation& g) {
  const int64_t read = g.prompt_tokens - g.cached_prefix_tokens, written = std::ssize(g.ids),
                timed = std::max<int64_t>(0, written - 1);
  return {{"prompt_n", read},
          {"cache_n", g.cached_prefix_tokens},
          {"prompt_ms", g.prompt_seconds * 1e3},
          {"prompt_per_second", a_second(read, g.prompt_seconds)},
          {"predicted_n", written},
          {"predicted_ms", g.predicted_seconds * 1e3},
          {"predicted_per_second", a_second(timed, g.predicted_seconds)},
          {"draft_n", g.drafts.drafts},
          {"draft_n_accepted", g.drafts.accepted},
          {"draft_passes", g.drafts.passes}};
}

Json whole_answer(const AnswerHead& head, const std::vector<AnsweredChoice>& choices, const Usage& usage) {
  Json answer = head_json(head, false);
  answer["choices"] = Json::array();
  for (size_t i = 0; i < choices.size(); ++i)
    answer["choices"].push_back(choice_json(head, static_cast<int64_t>(i), choices[i]));
  answer["usage"] = usage_json(usage);
  return answer;
}

// The form of a completion: lists side by side, one entry for each token. Offsets go on from chunk to chunk, so the
// caller keeps the count.
Json logprobs_json(const AnswerHead& head, const std::vector<AnsweredToken>& tokens, int64_t& offset) {
  if (head.is_chat) return chat_logprobs(tokens);
  Json object = {{"tokens", Json::array()},
                 {"token_logprobs", Json::array()},
                 {"top_logprobs", Json::array()},
                 {"text_offset", Json::array()}};
  for (const AnsweredToken& each : tokens) {
    object["tokens"].push_back(each.piece);
    object["token_logprobs"].push_back(each.is_first ? Json() : Json(each.logprob));
    Json likely = Json::object();
    for (const auto& [piece, logprob] : each.likely)
      if (!likely.contains(piece)) likely[piece] = logprob;  // parts of characters may look alike
    object["top_logprobs"].push_back(each.is_first ? Json() : std::move(likely));
    object["text_offset"].push_back(offset);
    offset += characters_of(each.piece);
  }
  return object;
}

Json first_chunk(const AnswerHead& head, int64_t index) {
  return delta_chunk(head, index, {{"role", "assistant"}, {"content", ""}}, nullptr);
}

// One piece of a text for either route. Its probabilities belong to the tokens that this piece has completed.
Json text_chunk(const AnswerHead& head, int64_t index, std::string_view text, const Json& logprobs) {
  if (head.is_chat) return delta_chunk(head, index, {{"content", std::string(text)}}, logprobs);
  return chunk_json(head, index, {{"text", std::string(text)}}, logprobs, nullptr);
}

Json delta_chunk(const AnswerHead& head, int64_t index, const Json& delta, const Json& logprobs) {
  return chunk_json(head, index, {{"delta", delta}}, logprobs, nullptr);
}

Json last_chunk(const AnswerHead& head, int64_t index, const char* finish_reason, const Json& logprobs) {
  const Json said = head.is_chat ? Json{{"delta", Json::object()}} : Json{{"text", ""}};
  return chunk_json(head, index, said, logprobs, finish_reason);
}

// The last chunk of a stream has no choice. It exists only if the client asks for usage.
Json usage_chunk(const AnswerHead& head, const Usage& usage, const Generation& first) {
  Json chunk = head_json(head, true);
  chunk["choices"] = Json::array();
  chunk["usage"] = usage_json(usage);
  chunk["timings"] = timings_json(first);
  return chunk;
}

std::string event_of(const Json& chunk) { return "data: " + json_line(chunk) + "\n\n"; }

}  // namespace tandem::serve
