// The page of the server as a browser gets it. tests/clients tries it in one.
#include "engine/serve/page/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "tests/engine/serve/served.h"

namespace tandem::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string policy_of(const http::Response& page) {
  for (const auto& [name, value] : page.headers)
    if (name == "Content-Security-Policy") return value;
  return "";
}

TEST(Page, lets_a_browser_run_its_own_script_alone) {
  const http::Response page = serve::page_response("abc123");
  EXPECT_EQ(
      policy_of(page),
      "default-src 'none'; connect-src 'self'; img-src data:; script-src 'nonce-abc123'; style-src 'nonce-abc123'; "
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
  EXPECT_THAT(page.body, HasSubstr("<script nonce=\"abc123\">"));
  EXPECT_THAT(page.body, HasSubstr("<style nonce=\"abc123\">"));
  for (const char* place : {"@STYLE@", "@SCRIPT@", "@NONCE@"}) EXPECT_THAT(page.body, Not(HasSubstr(place)));
}

TEST(Page, has_another_nonce_each_time) {
  EXPECT_NE(policy_of(serve::page_response()), policy_of(serve::page_response()));
}

// Words of a model become text nodes. The page has nothing that parses texts as elements, or runs them.
TEST(Page, has_nothing_that_takes_texts_for_elements) {
  const std::string body = serve::page_response("n").body;
  for (const char* word : {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function",
                           "createContextualFragment", "DOMParser", "srcdoc", "javascript:"})
    EXPECT_THAT(body, Not(HasSubstr(word)));
}

TEST(Page, asks_its_own_server_alone) {
  const std::string body = serve::page_response("n").body;
  EXPECT_FALSE(std::regex_search(body, std::regex(R"re((src|href)="(https?:|//))re")));
  EXPECT_THAT(body, Not(HasSubstr("import(")));
}

TEST(Page, is_there_while_the_model_is_loaded) {
  const Served served({.is_ready = false});
  const Answered page = served.get("/");
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.head, HasSubstr("Content-Type: text/html; charset=utf-8"));
  EXPECT_THAT(page.head, HasSubstr("Content-Security-Policy: default-src 'none'"));
  EXPECT_THAT(page.body, StartsWith("<!doctype html>"));
}

TEST(Page, can_be_left_out) {
  const Served served({.has_page = false});
  EXPECT_EQ(served.get("/").status, 404);
  const Served with;
  EXPECT_EQ(with.post("/", "{}").status, 405);
}

}  // namespace
}  // namespace tandem::testing
