// The texts that answer one request: its prompts times its choices, on their way from the service to the client.
//
// Contract: begin() asks the service for all texts at once; ApiError 429 if the line is full. They end when the client
// leaves, or reads too slowly. The service's and the server's threads call the group. It lives as long as its last
// text does.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/serve/api/answer.h"
#include "engine/serve/api/ask.h"
#include "engine/serve/api/metrics.h"
#include "engine/serve/http/exchange.h"
#include "engine/serve/openai/reply_reader.h"
#include "engine/serve/openai/responses.h"
#include "tandem/generate.h"

namespace tandem::serve {

struct GroupOptions {
  AnswerHead head;
  bool is_stream = false, include_usage = false;
  std::string client;  // whose turn it is
  const Tokenizer* tokenizer = nullptr;
  bool has_logprobs = false;
  std::optional<ReplyRules> reply_rules;  // of a chat
  std::optional<ResponseHead> response;   // the answer is that of /v1/responses
  std::vector<std::string> echoes;        // before the text of each choice; empty: none
  std::vector<bool> hides_start;          // of each echo: it is a text, which does not show the start token of its ids
  std::shared_ptr<std::atomic<bool>> stop;  // true: the server ends
};

class TextGroup : public std::enable_shared_from_this<TextGroup> {
 public:
  struct Text {
    std::vector<int32_t> prompt;
    GenerateOptions options;
  };
  // texts: choice i of prompt p is number p * choices + i.
  TextGroup(std::shared_ptr<http::Exchange> exchange, GroupOptions options, std::vector<Text> texts, int64_t choices,
            Metrics& metrics);
  void begin(TextService& service);
  // Ends the answer with this error, from any thread; its texts end behind their pass. Nothing, if it has ended.
  void end_with(const ApiError& error);

 private:
  bool tells_prompts() const { return options_.has_logprobs && !options_.echoes.empty(); }
  void take_prompt_token(size_t index, const ChosenToken& token);
  AnsweredToken answered(const ChosenToken& token) const;
  void take_token(size_t index, const ChosenToken& token);
  void take_text(size_t index, std::string_view piece);
  void keep_tokens(size_t index);
  Json logprobs_of_chunk(size_t index);
  void take_end(size_t index, Batcher::Result result);
  void send(const std::string& events);
  void open(size_t index);
  void send_parts(size_t index, const ReplyParts& parts);
  void end_reply(size_t index);
  std::string last_events(size_t index, StopReason reason);
  ResponseEnd response_end() const;
  void finish();
  void fail(const ApiError& error);
  void cancel();

  const std::shared_ptr<http::Exchange> exchange_;
  const GroupOptions options_;
  const int64_t choices_;
  Metrics& metrics_;
  std::vector<Text> texts_;
  std::mutex turn_;  // of the thread that writes texts, or of end_with()
  std::mutex mutex_;
  std::vector<TextTicket> tickets_;  // under the lock
  bool is_cancelled_ = false;        // under the lock
  // Of the thread that writes texts.
  std::vector<AnsweredChoice> answered_;
  std::vector<std::vector<AnsweredToken>> prompt_tokens_, new_tokens_;  // new_tokens_: whose text has not come yet
  std::vector<size_t> prompt_bytes_;                                    // of the echo, which prompt_tokens_ have
  std::vector<bool> is_open_;
  std::vector<ReplyReader> readers_;  // of a chat, one for each choice
  std::vector<ReplyParts> parts_;     // that they have read, if the answer is whole
  std::vector<int64_t> calls_;        // that were sent
  std::optional<ResponseWriter> writer_;
  Usage usage_;
  Generation first_;  // of the first text that ended, for its times
  size_t left_ = 0;
  bool is_streaming_ = false, has_failed_ = false, has_ended_ = false;
};

// The answer to a text that ended with an exception.
ApiError error_of(const std::exception_ptr& error);

}  // namespace tandem::serve
