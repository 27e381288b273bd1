// Between a handler on any thread and the connection on the server's thread. Callbacks and `wake_` are called outside
// of the lock, because they may call back into the reply.
#include "engine/serve/http/reply.h"

#include <utility>

namespace tandem::http {

Reply::Reply(Request request, size_t most_kept_bytes, std::function<void()> wake)
    : request_(std::move(request)), most_kept_bytes_(most_kept_bytes), wake_(std::move(wake)) {}

// Under the lock. Only the first answer counts, so a late one has no effect.
void Reply::start(Response head, bool is_stream) {
  if (has_begun_) return;
  has_begun_ = true;
  is_stream_ = is_stream;
  has_ended_ = !is_stream;
  kept_ = std::move(head.body);
  head.body.clear();
  head.headers.insert(head.headers.end(), headers_.begin(), headers_.end());
  status_ = head.status;
  head_ = std::move(head);
}

void Reply::answer(Response response) {
  {
    const std::lock_guard lock(mutex_);
    start(std::move(response), false);
  }
  wake_();
}

void Reply::begin(Response head) {
  {
    const std::lock_guard lock(mutex_);
    start(std::move(head), true);
  }
  wake_();
}

// A client that reads too slowly is treated as gone: the text that it asked for ends, and others keep the memory.
bool Reply::write(std::string piece) {
  std::function<void()> call;
  bool is_kept = false, is_first = false;
  {
    const std::lock_guard lock(mutex_);
    if (is_gone_ || has_ended_ || !has_begun_) return false;
    is_first = kept_.empty();
    is_kept = kept_.size() + piece.size() <= most_kept_bytes_;
    if (is_kept)
      kept_ += piece;
    else
      call = become_gone();
  }
  if (is_first || !is_kept) wake_();
  if (call) call();
  return is_kept;
}

// An end without a beginning is ignored, and abandon() then answers with 500.
void Reply::end() {
  {
    const std::lock_guard lock(mutex_);
    if (!has_begun_) return;
    has_ended_ = true;
  }
  wake_();
}

size_t Reply::unread_bytes() const {
  const std::lock_guard lock(mutex_);
  return kept_.size();
}

// A client that has left already is reported at once, on this thread.
void Reply::when_gone(std::function<void()> call) {
  {
    const std::lock_guard lock(mutex_);
    if (!is_gone_) {
      when_gone_ = std::move(call);
      return;
    }
  }
  call();
}

// The last owner has dropped the exchange. An answer that was never begun becomes a 500, and a stream without its end
// is cut, so the client sees that it is not whole.
void Reply::abandon() {
  {
    const std::lock_guard lock(mutex_);
    if (has_ended_) return;
    if (!has_begun_)
      start(error_response(500, "The request was dropped without an answer.", "server_error"), false);
    else
      become_gone();
  }
  wake_();
}

// The callback is handed out once, and the caller calls it behind the lock. A complete answer does not need it.
std::function<void()> Reply::become_gone() {
  is_gone_ = true;
  kept_.clear();
  return has_ended_ ? nullptr : std::exchange(when_gone_, nullptr);
}

// Takes everything at once. So the connection never sees an end in front of the bytes that belong before it.
Reply::Output Reply::take() {
  const std::lock_guard lock(mutex_);
  Output output{std::exchange(head_, std::nullopt), is_stream_, std::exchange(kept_, ""), has_ended_, is_gone_};
  return output;
}

// The short way for the pieces of a stream, which are most of what comes.
std::string Reply::take_piece() {
  const std::lock_guard lock(mutex_);
  const bool is_more = head_ || !is_stream_ || has_ended_ || is_gone_;
  return is_more ? std::string() : std::exchange(kept_, "");
}

void Reply::leave() {
  std::function<void()> call;
  {
    const std::lock_guard lock(mutex_);
    if (is_gone_) return;
    call = become_gone();
  }
  if (call) call();
}

namespace {

// What handlers get. Its destructor tells the reply that no handler is left, and shared pointers make that exact.
class HandedOut : public Exchange {
 public:
  explicit HandedOut(std::shared_ptr<Reply> reply) : reply_(std::move(reply)) {}
  ~HandedOut() override { reply_->abandon(); }
  HandedOut(const HandedOut&) = delete;
  HandedOut& operator=(const HandedOut&) = delete;
  const Request& request() const override { return reply_->request(); }
  void answer(Response response) override { reply_->answer(std::move(response)); }
  void begin(Response head) override { reply_->begin(std::move(head)); }
  bool write(std::string piece) override { return reply_->write(std::move(piece)); }
  void end() override { reply_->end(); }
  size_t unread_bytes() const override { return reply_->unread_bytes(); }
  void when_gone(std::function<void()> call) override { reply_->when_gone(std::move(call)); }

 private:
  const std::shared_ptr<Reply> reply_;
};

}  // namespace

std::shared_ptr<Exchange> hand_out(std::shared_ptr<Reply> reply) {
  return std::make_shared<HandedOut>(std::move(reply));
}

}  // namespace tandem::http
