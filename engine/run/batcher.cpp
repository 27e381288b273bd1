#include "engine/run/batcher.h"

#include <algorithm>
#include <utility>

#include "sync/clock.h"
#include "sync/error.h"

namespace tandem {
namespace {

int64_t common_prefix(std::span<const int32_t> a, std::span<const int32_t> b) {
  return std::ranges::mismatch(a, b).in1 - a.begin();
}

}  // namespace

Batcher::Batcher(Engine& engine, int64_t width) : engine_(engine), width_(width) {
  TANDEM_CHECK(width > 0, "texts at a time");
}

void Batcher::add(std::vector<int32_t> prompt, GenerateOptions options, OnEnd on_end) {
  waiting_.push_back({std::move(prompt), std::move(options), std::move(on_end)});
}

bool Batcher::step() {
  end_complete();  // those that are left where an on_end has thrown
  begin_texts();
  if (texts_.empty()) return false;
  std::vector<Engine::Extension> pass;
  std::span<const float> logits;
  try {
    pass = next_pass();
    make_room(pass);
    logits = engine_.extend(pass);
  } catch (...) {
    for (Text& text : texts_) text.error = std::current_exception();
    end_complete();
    return true;
  }
  ++totals_.passes;
  for (const Engine::Extension& each : pass) totals_.pass_tokens += std::ssize(each.ids);
  const auto vocabulary = static_cast<size_t>(engine_.config().vocabulary);
  for (const Engine::Extension& each : pass) {
    if (each.outputs == 0) continue;
    const auto text = std::ranges::find(texts_, each.sequence, [](const Text& one) { return &one.sequence; });
    take_logits(*text, logits.first(vocabulary));
    logits = logits.subspan(vocabulary);
  }
  find_not_finite();
  for (Text& text : texts_)
    if (is_reading(text)) guard(text, [&text] { text.cut = text.continuation.is_interrupted(); });
  end_complete();
  return true;
}

// Whatever is thrown by a text's own functions, or for want of memory, is that text's error.
template <typename Work>
void Batcher::guard(Text& text, const Work& work) {
  try {
    work();
  } catch (...) {
    text.error = std::current_exception();
  }
}

bool Batcher::is_complete(const Text& text) { return text.error || text.cut || (!is_reading(text) && !text.next); }

void Batcher::end_complete() {
  for (size_t i = texts_.size(); i-- > 0;)
    if (is_complete(texts_[i])) end(i);
}

bool Batcher::is_reading(const Text& text) { return text.sequence.position() < std::ssize(text.prompt); }

// Whether a text that is being read begins as this one does, further than it has come: it pays to wait for that.
bool Batcher::will_share_more(std::span<const int32_t> prompt) const {
  const int64_t half = std::ssize(prompt) / 2, worth_waiting = std::clamp<int64_t>(half, 2, 8);  // tokens
  if (prompt.empty() || engine_.bits_depend_on_passes()) return false;
  return std::ranges::any_of(texts_, [&](const Text& text) {
    const int64_t common = common_prefix(prompt.first(prompt.size() - 1), text.prompt);
    return is_reading(text) && common >= text.sequence.position() + worth_waiting;
  });
}

void Batcher::begin_texts() {
  while (active() < width_ && !waiting_.empty() && !will_share_more(waiting_.front().prompt)) {
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    try {
      texts_.reserve(texts_.size() + 1);  // nothing is thrown once the text is made
      TANDEM_CHECK(!next.prompt.empty(), "a prompt has at least one token");
      engine_.check_fits(next.prompt, 0);
      Sequence sequence = begin_like_others(next.prompt);
      const int64_t kept = sequence.position();
      totals_.shared_tokens += kept;
      Continuation continuation(engine_.tokenizer(), next.prompt, next.options);
      texts_.push_back({std::move(sequence), std::move(next.prompt), std::move(continuation), std::move(next.on_end),
                        kept, now_seconds()});
    } catch (...) {
      next.on_end({{}, std::current_exception()});
    }
  }
}

// The last token of a prompt is run in any case, for its logits.
Sequence Batcher::begin_like_others(std::span<const int32_t> prompt) {
  if (engine_.bits_depend_on_passes()) return engine_.new_sequence();
  const std::span<const int32_t> shareable = prompt.first(prompt.size() - 1);
  const Sequence* best = nullptr;
  int64_t most = 0;
  const auto consider = [&](const Sequence& other) {
    const int64_t common = common_prefix(shareable, other.ids());
    if (common > most) best = &other, most = common;
  };
  for (const Text& text : texts_) consider(text.sequence);
  for (const Sequence& other : ended_) consider(other);
  return best ? engine_.fork(*best, most) : engine_.new_sequence();
}

// Texts that have ended give way to those that are written. A page that is shared may have to be copied.
void Batcher::make_room(std::span<const Engine::Extension> pass) {
  int64_t pages = 0;
  for (const Engine::Extension& each : pass) pages += pages_of(std::ssize(each.ids)) + 1;
  while (!ended_.empty() && engine_.free_pages() < pages) ended_.pop_front();
}

std::vector<Engine::Extension> Batcher::next_pass() {
  std::vector<Engine::Extension> pass;
  int64_t room = engine_.chunk();
  const auto add = [&](Text& text, std::span<const int32_t> ids, int64_t outputs) {
    pass.push_back({&text.sequence, ids, outputs});
    room -= std::ssize(ids);
  };
  for (Text& text : texts_) {
    if (text.next && room > 0) add(text, {&*text.next, 1}, 1);
  }
  for (Text& text : texts_) {
    if (text.next || room == 0) continue;
    const auto rest = std::span(text.prompt).subspan(static_cast<size_t>(text.sequence.position()));
    const int64_t some = std::min(std::ssize(rest), room);
    add(text, rest.first(static_cast<size_t>(some)), some == std::ssize(rest) ? 1 : 0);
  }
  return pass;
}

void Batcher::take_logits(Text& text, std::span<const float> logits) {
  if (text.first_logits == 0) text.first_logits = now_seconds();
  text.next.reset();
  guard(text, [&] { text.next = text.continuation.next(logits, text.sequence.position() < engine_.context()); });
}

// Of all texts before one ends: the pass is run again, with the pages that they had.
void Batcher::find_not_finite() {
  for (Text& text : texts_) {
    if (is_reading(text) || text.next || text.continuation.reason() != StopReason::not_finite) continue;
    guard(text, [&] { text.error = std::make_exception_ptr(engine_.not_finite(text.sequence.position() - 1)); });
  }
}

void Batcher::end(size_t index) {
  Text text = std::move(texts_[index]);
  texts_.erase(texts_.begin() + static_cast<std::ptrdiff_t>(index));
  if (text.cut) text.continuation.interrupt();
  const bool can_be_shared = text.continuation.reason() != StopReason::not_finite;
  Result result;
  guard(text, [&] { result.generation = text.continuation.finish(); });
  const double now = now_seconds();
  result.generation.kept_tokens = text.kept;
  result.generation.prompt_seconds = (text.first_logits > 0 ? text.first_logits : now) - text.began;
  if (text.first_logits > 0) result.generation.predicted_seconds = now - text.first_logits;
  if (can_be_shared) guard(text, [&] { ended_.push_back(std::move(text.sequence)); });
  result.error = text.error;
  text.on_end(std::move(result));
}

}  // namespace tandem
