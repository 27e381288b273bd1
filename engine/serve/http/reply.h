// The answer to one request on its way from a handler, on any thread, to the connection, on the server's thread.
//
// Contract: thread-safe. Keeps what the client has not read, up to a bound; beyond it the client counts as gone. `wake`
// is called after there is something new, on the thread that brought it; for bytes behind others that were not taken
// yet it is not called again.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/serve/http/exchange.h"

namespace tandem::http {

class Reply {
 public:
  Reply(Request request, size_t most_kept_bytes, std::function<void()> wake);

  // For handlers, as Exchange has it.
  const Request& request() const { return request_; }
  void answer(Response response);
  void begin(Response head);
  bool write(std::string piece);
  void end();
  size_t unread_bytes() const;
  void when_gone(std::function<void()> call);
  void abandon();  // no handler has the exchange any longer

  // For the connection. What is new: the head comes first, then bytes.
  struct Output {
    std::optional<Response> head;  // its body has been moved into `bytes`
    bool is_stream = false;
    std::string bytes;
    bool is_end = false;     // nothing more will come
    bool is_broken = false;  // the answer cannot be completed: the connection must end
    bool is_nothing() const { return !head && bytes.empty() && !is_end && !is_broken; }
  };
  Output take();
  // The next bytes of a stream whose head was taken. "": there are none, or take() has more to say than bytes.
  std::string take_piece();
  void leave();  // the client is gone
  // Headers that every answer to this request has; set before a handler has the exchange.
  void set_headers(std::vector<std::pair<std::string, std::string>> headers) { headers_ = std::move(headers); }
  bool has_headers() const { return !headers_.empty(); }
  int status() const { return status_; }  // of the answer; 0: none has been sent

 private:
  void start(Response head, bool is_stream);
  std::function<void()> become_gone();  // under the lock; what to call after it

  const Request request_;
  const size_t most_kept_bytes_;
  const std::function<void()> wake_;
  mutable std::mutex mutex_;
  std::vector<std::pair<std::string, std::string>> headers_;
  std::atomic<int> status_ = 0;
  std::optional<Response> head_;
  std::string kept_;
  bool has_begun_ = false, is_stream_ = false, has_ended_ = false, is_gone_ = false;
  std::function<void()> when_gone_;
};

// Gives handlers an exchange whose last reference abandons the reply.
std::shared_ptr<Exchange> hand_out(std::shared_ptr<Reply> reply);

}  // namespace tandem::http
