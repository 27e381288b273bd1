// An HTTP server: one thread for all connections, by Boost.Beast and Asio's coroutines.
//
// One thread is enough, because handlers return at once and texts are written by the engine's thread. It costs a
// connection some 20 KB and no thread, so idle or slow clients hold up nobody. TLS is the work of a proxy.
//
// Contract
//   The constructor listens: Error if it cannot, for example because the port is taken. The handler is called on the
//   server's thread (exchange.h). Requests that the access rules refuse (access.h), or that are too large, never reach
//   it. stop_listening() refuses new connections and ends idle ones; answers that have begun go on. The destructor cuts
//   all connections. Texts of requests are never logged.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "engine/serve/http/access.h"
#include "engine/serve/http/exchange.h"

namespace tandem::http {

struct ServerOptions {
  std::string host = "127.0.0.1";  // an address or a name
  uint16_t port = 8080;            // 0: any free one
  Access access;
  size_t most_connections = 4096;
  size_t most_body_bytes = size_t{16} << 20;
  size_t most_head_bytes = size_t{16} << 10;
  size_t most_kept_bytes = size_t{1} << 20;      // of a stream that its client has not read
  std::chrono::milliseconds head_time{10'000};   // for a request's head, from its first byte
  std::chrono::milliseconds body_time{60'000};   // for its body
  std::chrono::milliseconds idle_time{120'000};  // between two requests
  std::chrono::milliseconds write_time{30'000};  // in which a client reads some of what it is sent
};

class Connection;

class Server {
 public:
  Server(const ServerOptions& options, Handler handler);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  uint16_t port() const;
  std::string address() const;  // "http://127.0.0.1:8080"
  void stop_listening();        // any thread
  size_t connections() const;   // open ones; any thread

 private:
  friend class Connection;
  class State;
  const std::unique_ptr<State> state_;
};

}  // namespace tandem::http
