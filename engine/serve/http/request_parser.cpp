#include "engine/serve/http/request_parser.h"

namespace tandem::http {

namespace beast = boost::beast;

std::string field(const RequestParser& parser, beast::http::field name) {
  const auto value = parser.get()[name];
  return {value.data(), value.size()};
}

// Copies what rules and handlers look at, so nothing refers to the parser's buffers later.
Request request_of(const RequestParser& parser, const std::string& client) {
  const auto& message = parser.get();
  const std::string target(message.target().data(), message.target().size());
  const size_t question = target.find('?');
  Request request;
  request.method = std::string(message.method_string().data(), message.method_string().size());
  request.path = target.substr(0, question);
  if (question != std::string::npos) request.query = target.substr(question + 1);
  request.host = field(parser, beast::http::field::host);
  request.content_type = field(parser, beast::http::field::content_type);
  request.authorization = field(parser, beast::http::field::authorization);
  request.origin = field(parser, beast::http::field::origin);
  request.client = client;
  request.is_old = message.version() < 11;
  return request;
}

}  // namespace tandem::http
