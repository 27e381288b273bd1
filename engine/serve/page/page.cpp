// Serves the embedded page. The policy in its head allows what has the nonce of this answer and nothing else.
#include "engine/serve/page/page.h"

#include <cstdio>
#include <random>

#include "engine/serve/page/embedded.h"

namespace tandem::serve {
namespace {

// 128 random bits, so nobody can guess the nonce of an answer.
std::string new_nonce() {
  std::random_device source;
  std::string nonce;
  for (int i = 0; i < 4; ++i) {
    char digits[9];
    std::snprintf(digits, sizeof digits, "%08x", static_cast<unsigned>(source()));
    nonce += digits;
  }
  return nonce;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

}  // namespace

// The page shows what a model writes, which may contain markup. Without the nonce a browser runs no script in it, and
// the page can ask no server but its own.
http::Response page_response(const std::string& nonce) {
  http::Response response{200, kEmbeddedPage, "text/html; charset=utf-8"};
  replace_all(response.body, "@NONCE@", nonce);
  response.headers = {
      {"Content-Security-Policy", "default-src 'none'; connect-src 'self'; img-src data:; script-src 'nonce-" + nonce +
                                      "'; style-src 'nonce-" + nonce +
                                      "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
      {"Referrer-Policy", "no-referrer"},
      {"Cross-Origin-Opener-Policy", "same-origin"}};
  return response;
}

http::Response page_response() { return page_response(new_nonce()); }

}  // namespace tandem::serve
