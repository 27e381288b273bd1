// The page of the server: a chat, and beside it what the devices do (docs/server.md).
//
// Method: one document with its style sheet and its script. A nonce, new for each answer, lets the browser run these
// and nothing else (Content-Security-Policy). The page asks its own server alone.
//
// Contract: pure but for the random nonce. Any thread.
#pragma once

#include <string>

#include "engine/serve/http/exchange.h"

namespace tandem::serve {

http::Response page_response();
http::Response page_response(const std::string& nonce);  // of letters and digits

}  // namespace tandem::serve
