// Who may ask a server: rules over the head of a request, as pure functions.
//
// The rules keep foreign web pages and other machines out. A page may send a request to a loopback address, also under
// a name of its own that leads there (DNS rebinding). So the `Host` must be an address or a known name, and a body must
// be declared as JSON, which a page cannot do without permission (CORS).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/serve/http/exchange.h"

namespace tandem::http {

struct Access {
  std::vector<std::string> keys;           // one of them is demanded; empty: none
  std::vector<std::string> hosts;          // names that `Host` may have beside "localhost" and addresses
  std::vector<std::string> origins;        // pages that may ask: "https://chat.example", "*"; empty: none
  std::vector<std::string> without_key{};  // paths that need no key: "/health"
};

// Why the request is refused; nothing: it is not. Looks at the head alone.
std::optional<Response> refusal_of(const Request& head, const Access& access);
// The CORS headers of an answer to this request; none: its page may not read it.
std::vector<std::pair<std::string, std::string>> cors_headers(const Request& head, const Access& access);

bool is_loopback(std::string_view host);  // "127.0.0.1", "::1", "localhost"
// "example.org:8080" is example.org; "[::1]:80" is ::1. In lower case.
std::string host_of(std::string_view header);
bool is_address(std::string_view host);  // an IPv4 or IPv6 address
// Takes a time that depends on the lengths alone.
bool same_secret(std::string_view a, std::string_view b);
std::string_view bearer_key(std::string_view authorization);  // "Bearer K" is K; "": it is none
bool is_json_type(std::string_view content_type);             // "application/json; charset=utf-8"
// Control characters and invalid bytes as \xNN, at most `most` bytes: for logs.
std::string printable(std::string_view text, size_t most = 200);

}  // namespace tandem::http
