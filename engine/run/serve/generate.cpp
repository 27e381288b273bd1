// One text from its tokens' logits: sampling, printing and reasons to stop. It knows nothing of passes. The batcher
// gives it logits and gets back the next token.
#include "engine/run/serve/generate.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

#include "engine/constraint/constraint.h"
#include "engine/run/engine.h"
#include "engine/run/pass/not_finite.h"
#include "engine/run/serve/logprobs.h"
#include "sync/error.h"

namespace tandem {

const char* to_string(StopReason reason) {
  switch (reason) {
    case StopReason::end_of_text:
      return "eos";
    case StopReason::length:
      return "length";
    case StopReason::stop_string:
      return "stop";
    case StopReason::context_full:
      return "context_full";
    case StopReason::interrupted:
      return "interrupted";
    case StopReason::not_finite:
      return "not_finite";
  }
  return "";
}

// The prompt counts for the repeat penalty, so the sampler has seen it before the first token.
Continuation::Continuation(const Tokenizer& tokenizer, std::span<const int32_t> prompt, GenerateOptions options)
    : tokenizer_(&tokenizer), options_(std::move(options)), sampler_(options_.sampler), stops_(options_.stop) {
  TANDEM_CHECK(!prompt.empty(), "a prompt has at least one token");
  result_.prompt_tokens = static_cast<int64_t>(prompt.size());
  for (const int32_t id : prompt) sampler_.accept(id);
  if (options_.constraint) matcher_ = options_.constraint->state().new_matcher(!options_.ignore_end);
}

Continuation::Continuation(Continuation&&) noexcept = default;
Continuation& Continuation::operator=(Continuation&&) noexcept = default;
Continuation::~Continuation() = default;

// Makes the masks of the next positions early, while a pass runs.
void Continuation::prepare(std::span<const int32_t> drafts) const {
  if (matcher_) matcher_->prepare(drafts);
}

bool Continuation::is_complete() const {
  return options_.predict >= 0 && static_cast<int64_t>(result_.ids.size()) >= options_.predict;
}

int64_t Continuation::most_left() const {
  if (options_.predict < 0) return std::numeric_limits<int64_t>::max();
  return options_.predict - std::ssize(result_.ids);
}

// Text that callers see and the text of the result are the same bytes.
void Continuation::print(const std::string& text) {
  if (text.empty()) return;
  result_.text += text;
  if (options_.on_text) options_.on_text(text);
}

std::optional<int32_t> Continuation::end(StopReason reason) {
  result_.reason = reason;
  return std::nullopt;
}

// Without a constraint the caller sees the pass's own logits; else a copy, in which other tokens are excluded.
std::optional<int32_t> Continuation::chosen_by_caller(std::span<const float> logits) const {
  if (!all_finite(logits)) return std::nullopt;
  std::vector<float> allowed;
  if (matcher_) {
    allowed.assign(logits.begin(), logits.end());
    exclude(allowed, matcher_->mask());
    logits = allowed;
  }
  const int32_t id = options_.choose(logits);
  const bool is_token = id >= 0 && id < std::ssize(logits);
  if (!is_token || std::isinf(logits[static_cast<size_t>(id)]))
    throw Error("a sampler has chosen what may not come", "token " + std::to_string(id),
                "Choose a token of the vocabulary whose logit is not minus infinity");
  return id;
}

// A replayed token takes the place of the choice. Under a constraint it must be one that may come here.
std::optional<int32_t> Continuation::choose(std::span<const float> logits) {
  const auto allowed = matcher_ ? matcher_->mask() : std::span<const uint64_t>();
  const std::optional<int32_t> choice = options_.choose ? chosen_by_caller(logits) : sampler_.sample(logits, allowed);
  if (!choice) return std::nullopt;
  const size_t place = result_.ids.size();
  const int32_t id = place < options_.replayed.size() ? options_.replayed[place] : *choice;
  if (matcher_ && !tokenizer_->is_end(id) && !matcher_->accept(id))
    throw Error("a replayed token breaks the text's constraint", "token " + std::to_string(id),
                "Replay a text that satisfies the constraint");
  return id;
}

// Samples a token, prints its text, and checks the reasons to stop. A token ends the text without another pass if no
// further token may follow it.
std::optional<int32_t> Continuation::next(std::span<const float> logits, bool has_room) {
  if (is_complete()) return end(all_finite(logits) ? StopReason::length : StopReason::not_finite);
  if (is_interrupted()) return end(StopReason::interrupted);
  if (matcher_ && matcher_->is_complete()) return end(StopReason::end_of_text);  // the empty text is all there is
  const std::optional<int32_t> choice = choose(logits);
  if (!choice) return end(StopReason::not_finite);
  const int32_t id = *choice;
  result_.ids.push_back(id);
  if (options_.on_token)
    options_.on_token(options_.logprobs < 0 ? ChosenToken{id} : with_logprobs(logits, id, options_.logprobs));
  if (tokenizer_->is_end(id) && !options_.ignore_end) return end(StopReason::end_of_text);
  print(stops_.push(characters_.push(tokenizer_->piece(id, options_.print_special))));
  if (stops_.stopped()) return end(StopReason::stop_string);
  if (matcher_ && matcher_->is_complete()) return end(StopReason::end_of_text);  // nothing may follow
  if (is_complete()) return end(StopReason::length);  // the last token's logits are not needed
  if (!has_room) return end(StopReason::context_full);
  return id;
}

// Text that was held back, as a possible beginning of a stop string, is text after all.
Generation Continuation::finish() {
  if (!stops_.stopped()) {
    print(stops_.push(characters_.flush()));
    print(stops_.flush());
  }
  return abandon();
}

// The result as it is, without text that was held back.
Generation Continuation::abandon() { return std::move(result_); }

namespace {

// Plans and kernels are prepared before the clock starts, so no token waits for them.
Generation generate_here(Engine& engine, Sequence& sequence, std::span<const int32_t> prompt,
                         const GenerateOptions& options) {
  engine.prewarm(sequence.position(), std::ssize(prompt) - sequence.position(),
                 options.predict < 0 || options.predict > 1);
  if (options.on_ready) options.on_ready();
  Batcher batcher(engine, 1);
  Batcher::Result result;
  batcher.add(sequence, {prompt.begin(), prompt.end()}, options,
              [&result](Batcher::Result ended) { result = std::move(ended); });
  while (batcher.step()) {
  }
  if (result.error) std::rethrow_exception(result.error);
  return std::move(result.generation);
}

}  // namespace

Generation generate(Engine& engine, Sequence& sequence, std::span<const int32_t> prompt,
                    const GenerateOptions& options) {
  return engine.machine().orchestrator().run([&] { return generate_here(engine, sequence, prompt, options); });
}

Generation generate(Engine& engine, std::span<const int32_t> prompt, const GenerateOptions& options) {
  Sequence sequence = engine.cache().new_sequence();
  return generate(engine, sequence, prompt, options);
}

StopMatcher::StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {
  std::erase_if(stops_, [](const std::string& stop) { return stop.empty(); });
}

// A stop string may arrive in pieces. So text that could be the beginning of one is held back until the next piece
// decides. If the string becomes complete, the text from its first character on is dropped.
std::string StopMatcher::push(std::string_view text) {
  if (stopped_) return "";
  held_ += text;
  size_t first = std::string::npos;
  for (const std::string& stop : stops_) first = std::min(first, held_.find(stop));
  if (first != std::string::npos) {
    stopped_ = true;
    std::string before = held_.substr(0, first);
    held_.clear();
    return before;
  }
  // Keep back the longest end of the text that is the beginning of a stop string.
  size_t keep = 0;
  for (const std::string& stop : stops_) {
    for (size_t length = std::min(stop.size() - 1, held_.size()); length > keep; --length) {
      if (std::string_view(held_).substr(held_.size() - length) == std::string_view(stop).substr(0, length)) {
        keep = length;
        break;
      }
    }
  }
  std::string ready = held_.substr(0, held_.size() - keep);
  held_.erase(0, held_.size() - keep);
  return ready;
}

std::string StopMatcher::flush() { return std::exchange(held_, ""); }

}  // namespace tandem
