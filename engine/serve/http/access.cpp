// Rules over the head of a request. They run before a body is read, so a foreign page or client costs almost nothing.
#include "engine/serve/http/access.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <cstdio>

namespace tandem::http {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// A page that reaches this server under a name of its own sends that name. HTTP/1.0 had no `Host`, and browsers do not
// use it.
bool knows_host(const Request& head, const Access& access) {
  if (head.host.empty()) return head.is_old;
  const std::string host = host_of(head.host);
  return host == "localhost" || is_address(host) ||
         std::ranges::any_of(access.hosts, [&](const std::string& name) { return lower(name) == host; });
}

// Every key is compared, so the time does not tell which of them is near.
bool has_key(const Request& head, const Access& access) {
  const std::string_view given = bearer_key(head.authorization);
  bool found = false;
  for (const std::string& key : access.keys) found = same_secret(given, key) || found;
  return found;
}

// The headers that a page may send: the usual ones, and those that it asks for, if their names are plain.
std::string wanted_headers(const Request& head) {
  const std::string usual = "Authorization, Content-Type";
  const bool is_plain = !head.wanted_headers.empty() && printable(head.wanted_headers, 1000) == head.wanted_headers;
  return is_plain ? usual + ", " + head.wanted_headers : usual;
}

bool needs_key(const Request& head, const Access& access) {
  return !access.keys.empty() && std::ranges::find(access.without_key, head.path) == access.without_key.end();
}

}  // namespace

// The order matters: the host first, since a foreign page should learn nothing else. A preflight request never has a
// key, so it passes before the key is checked.
std::optional<Response> refusal_of(const Request& head, const Access& access) {
  const auto refused = [](int status, const std::string& message, const std::string& code) {
    return error_response(status, message, status == 401 ? "authentication_error" : "invalid_request_error", code);
  };
  if (head.hosts > 1) return refused(400, "The request names several hosts.", "several_hosts");
  if (!knows_host(head, access))
    return refused(403,
                   "This server is not known as \"" + printable(host_of(head.host), 80) +
                       "\". Ask it by its address, or start it with --allow-host and this name.",
                   "unknown_host");
  if (head.method == "OPTIONS" && !cors_headers(head, access).empty()) return std::nullopt;  // has no key by design
  if (needs_key(head, access) && !has_key(head, access)) {
    Response response =
        refused(401, "Give the server's key in the header \"Authorization: Bearer KEY\".", "invalid_api_key");
    response.headers.emplace_back("WWW-Authenticate", "Bearer");  // RFC 9110 demands it of a 401
    return response;
  }
  if (head.method == "POST" && !is_json_type(head.content_type))
    return refused(415, "The body of a request is JSON: send it with \"Content-Type: application/json\".",
                   "unsupported_media_type");
  if (!head.content_encoding.empty() && lower(trimmed(head.content_encoding)) != "identity")
    return refused(415,
                   "A body in the encoding \"" + printable(head.content_encoding, 40) +
                       "\" is not read here: send it without Content-Encoding.",
                   "unsupported_encoding");
  if (!head.transfer_encoding.empty() && lower(trimmed(head.transfer_encoding)) != "chunked")
    return refused(
        501,
        "The transfer encoding \"" + printable(head.transfer_encoding, 40) + "\" is not read here: chunked alone is.",
        "unsupported_encoding");
  return std::nullopt;
}

// The origin is repeated in a header, so one with control characters gets no headers. `Vary` keeps caches from giving
// the answer of one page to another. A page that may ask may also send the headers that it asks for: clients in
// JavaScript send many of their own.
std::vector<std::pair<std::string, std::string>> cors_headers(const Request& head, const Access& access) {
  if (head.origin.empty()) return {};
  const bool is_allowed = std::ranges::any_of(
      access.origins, [&](const std::string& origin) { return origin == "*" || lower(origin) == lower(head.origin); });
  if (!is_allowed || printable(head.origin) != head.origin) return {};
  return {{"Access-Control-Allow-Origin", head.origin},
          {"Vary", "Origin"},
          {"Access-Control-Allow-Methods", "GET, POST, OPTIONS"},
          {"Access-Control-Allow-Headers", wanted_headers(head)},
          {"Access-Control-Max-Age", "600"}};
}

// An IPv6 address has several colons and stands in brackets if a port follows.
std::string host_of(std::string_view header) {
  std::string_view host = trimmed(header);
  if (host.starts_with('[')) return lower(host.substr(1, std::min(host.find(']'), host.size()) - 1));
  if (std::ranges::count(host, ':') == 1) host = host.substr(0, host.find(':'));
  if (host.ends_with('.')) host.remove_suffix(1);  // the same name, written in full
  return lower(host);
}

bool is_address(std::string_view host) {
  const std::string text(host);
  unsigned char bytes[16];
  return inet_pton(AF_INET, text.c_str(), bytes) == 1 || inet_pton(AF_INET6, text.c_str(), bytes) == 1;
}

// All of 127.0.0.0/8 is this machine, not 127.0.0.1 alone.
bool is_loopback(std::string_view host) {
  if (host == "localhost") return true;
  const std::string text(host);
  in_addr v4{};
  if (inet_pton(AF_INET, text.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  return inet_pton(AF_INET6, text.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

// Compares every byte without an early end, because the time of an early end would tell how many bytes are right. The
// variable is volatile so that the compiler keeps the loop.
bool same_secret(std::string_view a, std::string_view b) {
  volatile unsigned char difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size() && !b.empty(); ++i)
    difference = static_cast<unsigned char>(difference | (a[i] ^ b[i % b.size()]));
  return difference == 0;
}

// The name of the scheme has no case, and the key has.
std::string_view bearer_key(std::string_view authorization) {
  const std::string_view text = trimmed(authorization);
  const size_t blank = text.find(' ');
  if (blank == std::string_view::npos || lower(text.substr(0, blank)) != "bearer") return "";
  return trimmed(text.substr(blank));
}

bool is_json_type(std::string_view content_type) {
  return lower(trimmed(content_type.substr(0, content_type.find(';')))) == "application/json";
}

// Logs are read on terminals, so no byte of a client may be a control sequence there.
std::string printable(std::string_view text, size_t most) {
  std::string result;
  for (const char c : text) {
    if (result.size() >= most) return result + "...";
    const auto byte = static_cast<unsigned char>(c);
    char escaped[5];
    std::snprintf(escaped, sizeof escaped, "\\x%02X", byte);
    if (byte < 0x20 || byte >= 0x7f)
      result += escaped;
    else
      result += c;
  }
  return result;
}

}  // namespace tandem::http
