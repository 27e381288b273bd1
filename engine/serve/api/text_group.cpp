// One group for each request. Functions named take_ run on the thread that writes texts, begin() on the reader's, and
// cancel() on any thread. The members are grouped by thread in the same way. The lock of a turn lets the server's end
// come between the functions named take_.
#include "engine/serve/api/text_group.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "engine/serve/http/access.h"
#include "engine/serve/openai/reply_json.h"

namespace tandem::serve {

// Kinds that a client can act upon have their own status. Any other failure is the server's, and may pass.
ApiError error_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const ApiError& known) {
    return known;
  } catch (const Refusal& refusal) {
    return ApiError(400, refusal.message, refusal.param, refusal.code);
  } catch (const Interrupted&) {
    return server_ends();
  } catch (const std::bad_alloc&) {
    return ApiError(503, "There is too little memory for this text.", "", "out_of_memory");
  } catch (const std::exception& failure) {  // of a device, mostly
    return ApiError(503, std::string("The text could not be written: ") + failure.what(), "", "engine_error");
  }
}

// Lists have an entry for each text from the start, so callbacks never change their length.
TextGroup::TextGroup(std::shared_ptr<http::Exchange> exchange, GroupOptions options, std::vector<Text> texts,
                     int64_t choices, Metrics& metrics)
    : exchange_(std::move(exchange)),
      options_(std::move(options)),
      choices_(choices),
      metrics_(metrics),
      texts_(std::move(texts)),
      answered_(texts_.size()),
      prompt_tokens_(texts_.size()),
      new_tokens_(texts_.size()),
      prompt_bytes_(texts_.size()),
      is_open_(texts_.size()),
      parts_(texts_.size()),
      calls_(texts_.size()),
      left_(texts_.size()) {
  if (options_.reply_rules)
    for (size_t i = 0; i < texts_.size(); ++i) readers_.emplace_back(*options_.reply_rules);
  if (options_.response) writer_.emplace(*options_.response);
}

// Hands all texts of the request to the service at once, so either all have a place in the line or none. Texts hold the
// group by their callbacks. A text may end before its ticket is here, so a cancellation that came earlier is repeated.
void TextGroup::begin(TextService& service) {
  std::vector<TextService::Wish> wishes;
  for (size_t i = 0; i < texts_.size(); ++i) {
    if (!options_.echoes.empty() && !tells_prompts()) answered_[i].offset = characters_of(options_.echoes[i]);
    TextService::Wish wish{std::move(texts_[i].prompt), std::move(texts_[i].options), options_.client, {}};
    wish.options.on_text = [self = shared_from_this(), i](std::string_view piece) { self->take_text(i, piece); };
    if (options_.has_logprobs)
      wish.options.on_token = [self = shared_from_this(), i](const ChosenToken& token) { self->take_token(i, token); };
    if (tells_prompts())
      wish.options.on_prompt_token = [self = shared_from_this(), i](const ChosenToken& token) {
        self->take_prompt_token(i, token);
      };
    wish.on_end = [self = shared_from_this(), i](Batcher::Result result) { self->take_end(i, std::move(result)); };
    wishes.push_back(std::move(wish));
  }
  texts_.clear();
  auto tickets = service.ask(std::move(wishes));
  if (!tickets) {
    ++metrics_.turned_away;
    ApiError full(429, "Too many texts are waiting. Try again later.", "", "rate_limit_exceeded");
    full.retry_seconds = retry_seconds(metrics_, service.load().active, std::ssize(answered_));
    throw full;
  }
  bool is_late = false;
  {
    const std::lock_guard lock(mutex_);
    tickets_ = std::move(*tickets);
    is_late = is_cancelled_;
  }
  if (is_late) cancel();
  exchange_->when_gone([group = weak_from_this()] {
    if (const auto self = group.lock()) self->cancel();
  });
}

void TextGroup::end_with(const ApiError& error) {
  const std::lock_guard turn(turn_);
  if (!has_ended_) fail(error);
}

// Called from several threads, and maybe before the tickets are there. The flag makes begin() cancel late.
void TextGroup::cancel() {
  const std::lock_guard lock(mutex_);
  is_cancelled_ = true;
  for (const TextTicket& each : tickets_) each.cancel();
}

// The head of the answer goes with the first event. So a text that fails before its first token still gets a
// proper status.
void TextGroup::send(const std::string& events) {
  if (!is_streaming_) {
    is_streaming_ = true;
    http::Response head{200, events, "text/event-stream", {{"X-Accel-Buffering", "no"}}};
    exchange_->begin(std::move(head));
  } else if (!exchange_->write(events)) {
    cancel();
  }
}

// A choice of a stream begins with whose message it is, or with its prompt if that is echoed.
void TextGroup::open(size_t index) {
  if (is_open_[index]) return;
  is_open_[index] = true;
  if (!options_.is_stream) return;
  const auto number = static_cast<int64_t>(index);
  if (writer_) return send(writer_->begin());
  if (options_.head.is_chat) send(event_of(first_chunk(options_.head, number)));
  if (options_.echoes.empty()) return;
  const Json logprobs =
      tells_prompts() ? logprobs_json(options_.head, prompt_tokens_[index], answered_[index].offset) : Json();
  send(event_of(text_chunk(options_.head, number, options_.echoes[index], logprobs)));
}

AnsweredToken TextGroup::answered(const ChosenToken& token) const {
  AnsweredToken answered{options_.tokenizer->piece(token.id, true), token.logprob, {}};
  for (const LikelyToken& each : token.likely)
    answered.likely.emplace_back(options_.tokenizer->piece(each.id, true), each.logprob);
  return answered;
}

// Tokens of an echoed prompt, which together are its text. So a start token that the text lacks is left out, and so is
// the blank that some vocabularies put in front of a text. The first token has no probability, as with OpenAI.
void TextGroup::take_prompt_token(size_t index, const ChosenToken& token) {
  const std::lock_guard turn(turn_);
  std::vector<AnsweredToken>& tokens = prompt_tokens_[index];
  if (tokens.empty() && options_.hides_start[index] && token.id == options_.tokenizer->bos()) return;
  AnsweredToken& told = tokens.emplace_back(answered(token));
  told.is_first = tokens.size() == 1;
  const std::string_view rest = std::string_view(options_.echoes[index]).substr(prompt_bytes_[index]);
  if (told.piece.starts_with(' ') && !rest.starts_with(' ')) told.piece.erase(0, 1);
  prompt_bytes_[index] = std::min(prompt_bytes_[index] + told.piece.size(), options_.echoes[index].size());
}

// An end token is no part of the text.
void TextGroup::take_token(size_t index, const ChosenToken& token) {
  const std::lock_guard turn(turn_);
  if (options_.tokenizer->is_end(token.id)) return;
  new_tokens_[index].push_back(answered(token));
}

// Tokens come with the text that they complete. So those of a stop text, which has none, stay unsaid.
void TextGroup::take_text(size_t index, std::string_view piece) {
  const std::lock_guard turn(turn_);
  if (has_failed_) return;
  open(index);
  if (!options_.is_stream) keep_tokens(index);
  if (!readers_.empty())
    send_parts(index, readers_[index].push(piece));
  else if (options_.is_stream)
    send(event_of(text_chunk(options_.head, static_cast<int64_t>(index), piece, logprobs_of_chunk(index))));
}

// What was read of an answer: a stream has it at once, a whole answer at its end.
void TextGroup::send_parts(size_t index, const ReplyParts& parts) {
  if (!options_.is_stream) {
    parts_[index].insert(parts_[index].end(), parts.begin(), parts.end());
    if (writer_) writer_->push(parts);
    return;
  }
  if (writer_ && !parts.empty()) return send(writer_->push(parts));
  for (const ReplyPart& part : parts) {
    const auto number = static_cast<int64_t>(index);
    const Json delta = delta_json(part, options_.head.id, number, calls_[index]);
    if (part.kind == ReplyPart::Kind::call) ++calls_[index];
    send(event_of(delta_chunk(options_.head, number, delta, logprobs_of_chunk(index))));
  }
}

// The readers may still hold characters back, and these come now. Only then is it known whether there are calls.
void TextGroup::end_reply(size_t index) {
  if (readers_.empty()) return;
  send_parts(index, readers_[index].finish());
  AnsweredChoice& choice = answered_[index];
  choice.has_calls = readers_[index].calls() > 0;
  if (!options_.is_stream)
    choice.message = message_json(joined(parts_[index]), options_.head.id, static_cast<int64_t>(index));
}

// A whole answer collects the probabilities of its tokens until the end.
void TextGroup::keep_tokens(size_t index) {
  if (!options_.has_logprobs) return;
  auto& kept = answered_[index].tokens;
  if (!kept) kept = std::move(prompt_tokens_[index]);
  std::ranges::move(new_tokens_[index], std::back_inserter(*kept));
  new_tokens_[index].clear();
}

// A chunk has the probabilities of the tokens since the last one, and then they are forgotten.
Json TextGroup::logprobs_of_chunk(size_t index) {
  if (!options_.has_logprobs) return nullptr;
  Json json = logprobs_json(options_.head, new_tokens_[index], answered_[index].offset);
  new_tokens_[index].clear();
  return json;
}

// One text has ended. The choices of a prompt share it, so its tokens count once. An error ends the whole answer, and
// texts that end after it are only counted. The last text of the group finishes the answer.
void TextGroup::take_end(size_t index, Batcher::Result result) {
  const std::lock_guard turn(turn_);
  const Generation& written = result.generation;
  count(metrics_, written);
  if (const std::string& problem = written.drafts.model.problem; !problem.empty())
    spdlog::warn("a text went on without the draft model: {}", http::printable(problem, 500));
  if (result.error) {
    ++metrics_.failed;
    const ApiError error = error_of(result.error);
    spdlog::error("a text ended with an error: {}", http::printable(error.message, 500));
    fail(error);
  } else if (written.reason == StopReason::interrupted && *options_.stop) {
    fail(server_ends());
  }
  answered_[index].text = (options_.echoes.empty() ? "" : options_.echoes[index]) + written.text;
  answered_[index].reason = written.reason;
  if (written.reason == StopReason::stop_string) new_tokens_[index].clear();
  if (!options_.is_stream) keep_tokens(index);
  usage_.completion_tokens += std::ssize(written.ids);
  if (static_cast<int64_t>(index) % choices_ == 0) {
    usage_.prompt_tokens += written.prompt_tokens;
    usage_.cached_tokens += written.cached_prefix_tokens;
  }
  if (!result.error && !has_failed_) {
    open(index);
    end_reply(index);
    if (options_.is_stream && !writer_) send(last_events(index, written.reason));
  }
  if (index == 0) first_ = std::move(result.generation);
  if (--left_ == 0) finish();
}

// The last chunk says why the text has ended, and has probabilities of tokens that had no text.
std::string TextGroup::last_events(size_t index, StopReason reason) {
  const char* why = finish_reason(reason, answered_[index].has_calls);
  return event_of(last_chunk(options_.head, static_cast<int64_t>(index), why, logprobs_of_chunk(index)));
}

ResponseEnd TextGroup::response_end() const {
  return {is_cut(answered_.front().reason), usage_.prompt_tokens, usage_.cached_tokens, usage_.completion_tokens, 0};
}

// The first failure ends the answer, and the other texts with it.
void TextGroup::fail(const ApiError& error) {
  if (has_failed_) return;
  has_failed_ = true;
  if (is_streaming_) {
    exchange_->write(writer_ ? writer_->fail({{"code", error.code}, {"message", error.message}})
                             : "data: " + error.response().body + "\n\n");
    exchange_->end();
  } else {
    exchange_->answer(error.response());
  }
  cancel();
}

// All texts have ended. A stream gets its last events, and a whole answer is built and sent now.
void TextGroup::finish() {
  has_ended_ = true;
  if (has_failed_) return;
  if (writer_) {
    const std::string events = writer_->finish(response_end());
    if (options_.is_stream) send(events);
    if (options_.is_stream) return exchange_->end();
    return exchange_->answer(json_response(writer_->whole(response_end())));
  }
  if (!options_.is_stream) {
    Json answer = whole_answer(options_.head, answered_, usage_);
    answer["timings"] = timings_json(first_);
    exchange_->answer(json_response(answer));
    return;
  }
  if (options_.include_usage) send(event_of(usage_chunk(options_.head, usage_, first_)));
  send(kStreamEnd);
  exchange_->end();
}

}  // namespace tandem::serve
