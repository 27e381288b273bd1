// A server of a test on a free port, with short times.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "engine/serve/http/server.h"
#include "tests/engine/serve/client.h"

namespace tandem::testing {

inline http::ServerOptions quick_options() {
  http::ServerOptions options;
  options.port = 0;
  options.head_time = std::chrono::milliseconds(400);
  options.body_time = std::chrono::milliseconds(400);
  options.write_time = std::chrono::milliseconds(500);
  return options;
}

using Handed = std::shared_ptr<http::Exchange>;

// Answers with the request's method, path and body.
inline void echo(const Handed& exchange) {
  const http::Request& request = exchange->request();
  exchange->answer({200, request.method + " " + request.path + " " + request.body, "text/plain"});
}

}  // namespace tandem::testing
