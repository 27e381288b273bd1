#include "engine/serve/http/request_parser.h"

#include <algorithm>
#include <boost/beast/core/string.hpp>

namespace tandem::http {

namespace beast = boost::beast;
namespace {

// A client of a proxy writes "http://HOST/PATH". The host within counts then, and not that of the header.
void take_apart(std::string& target, std::string& host) {
  const std::string_view scheme = "http://";
  if (!beast::iequals({target.data(), std::min(target.size(), scheme.size())}, {scheme.data(), scheme.size()})) return;
  const size_t end = std::min(target.find_first_of("/?", scheme.size()), target.size());
  host = target.substr(scheme.size(), end - scheme.size());
  target.erase(0, end);
  if (!target.starts_with('/')) target.insert(0, 1, '/');
}

}  // namespace

std::string field(const RequestParser& parser, beast::http::field name) {
  const auto value = parser.get()[name];
  return {value.data(), value.size()};
}

// Copies what rules and handlers look at, so nothing refers to the parser's buffers later.
Request request_of(const RequestParser& parser, const std::string& client) {
  const auto& message = parser.get();
  Request request;
  request.host = field(parser, beast::http::field::host);
  std::string target(message.target().data(), message.target().size());
  take_apart(target, request.host);
  const size_t question = target.find('?');
  request.method = std::string(message.method_string().data(), message.method_string().size());
  request.path = target.substr(0, question);
  if (question != std::string::npos) request.query = target.substr(question + 1);
  request.hosts = message.count(beast::http::field::host);
  request.content_encoding = field(parser, beast::http::field::content_encoding);
  request.transfer_encoding = field(parser, beast::http::field::transfer_encoding);
  request.wanted_headers = field(parser, beast::http::field::access_control_request_headers);
  request.content_type = field(parser, beast::http::field::content_type);
  request.authorization = field(parser, beast::http::field::authorization);
  request.origin = field(parser, beast::http::field::origin);
  request.client = client;
  request.is_old = message.version() < 11;
  return request;
}

}  // namespace tandem::http
