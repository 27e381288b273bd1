// A queue between the machine's thread, which writes a text, and the thread that takes its pieces. The callbacks share
// the state, so the state lives until both sides have ended.
#include "bindings/text_stream.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace tandem::bindings {

struct TextStream::State {
  // The text that a token completes is reported after the token. So a token waits here until its text, or the next
  // token, comes.
  void token(const ChosenToken& token) {
    flush();  // a token without a text of its own
    waiting = token;
  }
  void text(std::string_view text) { add(std::exchange(waiting, std::nullopt).value_or(ChosenToken{-1}), text); }
  void flush() {
    if (waiting) add(*std::exchange(waiting, std::nullopt), "");
  }
  void end(Batcher::Result ended) {
    flush();
    const std::lock_guard lock(mutex);
    result = std::move(ended);
    changed.notify_all();
  }
  void add(const ChosenToken& token, std::string_view text) {
    const std::lock_guard lock(mutex);
    pieces.push_back({token.id, token.logprob, std::string(text)});
    changed.notify_all();
  }

  std::atomic<bool> is_cancelled = false;
  std::optional<ChosenToken> waiting;  // of the machine's thread
  std::mutex mutex;                    // of the members below
  std::condition_variable changed;
  std::deque<Piece> pieces;
  std::optional<Batcher::Result> result;  // absent: the text is being written
};

// Callbacks hold the state and never this object, which may be destroyed first.
TextStream::TextStream(std::shared_ptr<TextModel> model, std::shared_ptr<TextSequence> sequence,
                       std::vector<int32_t> prompt, GenerateOptions options)
    : model_(std::move(model)), sequence_(std::move(sequence)), state_(std::make_shared<State>()) {
  if (sequence_ && sequence_->model() != model_)
    throw UsageError("the sequence belongs to another model", "sequence", "Write in it with the model that made it");
  options.on_token = [state = state_](const ChosenToken& token) { state->token(token); };
  options.on_text = [state = state_](std::string_view text) { state->text(text); };
  options.interrupted = [state = state_] { return state->is_cancelled.load(); };
  const auto on_end = [state = state_](Batcher::Result ended) { state->end(std::move(ended)); };
  if (sequence_)
    sequence_->start(prompt, std::move(options), on_end);
  else
    model_->start(std::move(prompt), std::move(options), nullptr, on_end);
}

// In a child of fork() nobody writes the text. A callback runs on the thread that ends the text, so another thread
// waits for the end there, and keeps what the text uses.
TextStream::~TextStream() {
  cancel();
  if (!model_->is_here()) return;
  const auto wait = [state = state_] {
    std::unique_lock lock(state->mutex);
    state->changed.wait(lock, [&] { return state->result.has_value(); });
  };
  if (is_in_callback())
    std::thread([wait, model = model_, sequence = sequence_] { wait(); }).detach();
  else
    wait();
}

// Pieces come before the end and before an error, so that nothing that was written is lost.
TextStream::Got TextStream::next(Piece& piece, std::chrono::milliseconds longest) {
  require_no_callback();
  model_->require_here();
  std::unique_lock lock(state_->mutex);
  state_->changed.wait_for(lock, longest, [this] { return !state_->pieces.empty() || state_->result; });
  if (!state_->pieces.empty()) {
    piece = std::move(state_->pieces.front());
    state_->pieces.pop_front();
    return Got::piece;
  }
  if (!state_->result) return Got::nothing_yet;
  if (state_->result->error) std::rethrow_exception(state_->result->error);
  return Got::end;
}

void TextStream::cancel() { state_->is_cancelled = true; }

const Generation& TextStream::result() const {
  const std::lock_guard lock(state_->mutex);
  if (!state_->result) throw UsageError("the text has not ended", "its result", "Take its pieces until there is none");
  if (state_->result->error) std::rethrow_exception(state_->result->error);
  return state_->result->generation;
}

}  // namespace tandem::bindings
