#include "engine/serve/api/answer.h"

#include <algorithm>

namespace tandem::serve {
namespace {

Json head_json(const AnswerHead& head, bool is_chunk) {
  const char* object = !head.is_chat ? "text_completion" : is_chunk ? "chat.completion.chunk" : "chat.completion";
  return {{"id", head.id}, {"object", object}, {"created", head.created}, {"model", head.model}};
}

Json chunk_json(const AnswerHead& head, Json choice) {
  Json chunk = head_json(head, true);
  chunk["choices"] = Json::array({std::move(choice)});
  return chunk;
}

Json choice_json(const AnswerHead& head, int64_t index, const AnsweredChoice& choice) {
  Json object = {{"index", index}};
  if (head.is_chat)
    object["message"] = {{"role", "assistant"}, {"content", choice.text}};
  else
    object["text"] = choice.text;
  object["logprobs"] = nullptr;
  object["finish_reason"] = finish_reason(choice.reason);
  return object;
}

double a_second(int64_t tokens, double seconds) { return seconds > 0 ? static_cast<double>(tokens) / seconds : 0; }

}  // namespace

const char* finish_reason(StopReason reason) {
  const bool is_stop = reason == StopReason::end_of_text || reason == StopReason::stop_string;
  return is_stop ? "stop" : "length";
}

Json usage_json(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens}}}};
}

Json timings_json(const Generation& g) {
  const int64_t read = g.prompt_tokens - g.cached_prefix_tokens, written = std::ssize(g.ids),
                timed = std::max<int64_t>(0, written - 1);
  return {{"prompt_n", read},
          {"cache_n", g.cached_prefix_tokens},
          {"prompt_ms", g.prompt_seconds * 1e3},
          {"prompt_per_second", a_second(read, g.prompt_seconds)},
          {"predicted_n", written},
          {"predicted_ms", g.predicted_seconds * 1e3},
          {"predicted_per_second", a_second(timed, g.predicted_seconds)}};
}

Json whole_answer(const AnswerHead& head, const std::vector<AnsweredChoice>& choices, const Usage& usage) {
  Json answer = head_json(head, false);
  answer["choices"] = Json::array();
  for (size_t i = 0; i < choices.size(); ++i)
    answer["choices"].push_back(choice_json(head, static_cast<int64_t>(i), choices[i]));
  answer["usage"] = usage_json(usage);
  return answer;
}

Json first_chunk(const AnswerHead& head, int64_t index) {
  return chunk_json(head, {{"index", index},
                           {"delta", {{"role", "assistant"}, {"content", ""}}},
                           {"logprobs", nullptr},
                           {"finish_reason", nullptr}});
}

Json text_chunk(const AnswerHead& head, int64_t index, std::string_view text) {
  Json choice = {{"index", index}};
  if (head.is_chat)
    choice["delta"] = {{"content", std::string(text)}};
  else
    choice["text"] = std::string(text);
  choice["logprobs"] = nullptr;
  choice["finish_reason"] = nullptr;
  return chunk_json(head, std::move(choice));
}

Json last_chunk(const AnswerHead& head, int64_t index, StopReason reason) {
  Json choice = {{"index", index}};
  if (head.is_chat)
    choice["delta"] = Json::object();
  else
    choice["text"] = "";
  choice["logprobs"] = nullptr;
  choice["finish_reason"] = finish_reason(reason);
  return chunk_json(head, std::move(choice));
}

Json usage_chunk(const AnswerHead& head, const Usage& usage) {
  Json chunk = head_json(head, true);
  chunk["choices"] = Json::array();
  chunk["usage"] = usage_json(usage);
  return chunk;
}

std::string event_of(const Json& chunk) {
  return "data: " + chunk.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n\n";
}

}  // namespace tandem::serve
