// A request from the bytes of a connection, by Boost.Beast's parser.
//
// Contract: pure. The parser's own limits are set by its user.
#pragma once

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <string>

#include "engine/serve/http/exchange.h"

namespace tandem::http {

using RequestParser = boost::beast::http::request_parser<boost::beast::http::string_body>;

std::string field(const RequestParser& parser, boost::beast::http::field name);  // "": absent
// What the head says. client: the address that it came from. The body stays in the parser.
Request request_of(const RequestParser& parser, const std::string& client);

}  // namespace tandem::http
