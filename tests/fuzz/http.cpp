// Bytes of a connection, and the rules that say who may ask.
#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "engine/serve/http/access.h"
#include "engine/serve/http/request_parser.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/targets.h"

namespace tandem::fuzz {
namespace {

using http::Request;

// The first request of these bytes, which come in pieces. Nothing: it is broken, too large, or not complete.
std::optional<Request> request_in(std::string_view bytes, size_t piece) {
  http::RequestParser parser;
  parser.header_limit(600);
  parser.body_limit(300);
  parser.eager(true);
  std::string kept;
  while (!parser.is_done()) {
    boost::system::error_code problem;
    const size_t used = kept.empty() ? 0 : parser.put(boost::asio::buffer(kept), problem);
    kept.erase(0, used);
    if (problem && problem != boost::beast::http::error::need_more) return std::nullopt;
    if (parser.is_done()) break;
    if (used > 0 && !problem) continue;
    if (bytes.empty()) return std::nullopt;
    kept += bytes.substr(0, piece);
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  Request request = http::request_of(parser, "127.0.0.1");
  request.body = parser.get().body();
  return request;
}

bool is_one_line(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

void judge(const Request& request, const http::Access& rules) {
  const auto refusal = http::refusal_of(request, rules);
  must_hold(!refusal || (refusal->status >= 400 && !refusal->body.empty()), "a refusal is an error that says why");
  for (const auto& [name, value] : http::cors_headers(request, rules))
    must_hold(is_one_line(name) && is_one_line(value), "a head of an answer has no line of the client's");
}

}  // namespace

// The first byte is the length of the pieces.
void http_request(Bytes input) {
  if (input.empty()) return;
  const std::string_view text(reinterpret_cast<const char*>(input.data()) + 1, input.size() - 1);
  const std::optional<Request> whole = request_in(text, text.size() + 1);
  const std::optional<Request> cut = request_in(text, 1 + static_cast<size_t>(input[0]));
  if (!whole || !cut) return;
  must_hold(whole->method == cut->method && whole->path == cut->path && whole->query == cut->query &&
                whole->body == cut->body && whole->host == cut->host && whole->authorization == cut->authorization,
            "pieces of any length give the same request");
  must_hold(is_one_line(http::printable(whole->path)) && is_one_line(http::printable(whole->method)),
            "a line of the log has no line of the client's");
  judge(*whole, {});
  http::Access strict;
  strict.keys = {"a", "secret"};
  strict.hosts = {"here"};
  strict.origins = {"http://a.example"};
  strict.without_key = {"/health"};
  judge(*whole, strict);
  strict.origins = {"*"};
  judge(*whole, strict);
}

}  // namespace tandem::fuzz
