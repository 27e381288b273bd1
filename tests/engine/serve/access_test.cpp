// Who may ask a server.
#include "engine/serve/http/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem::http {
namespace {

Request head_of(const std::string& method, const std::string& host) {
  Request head;
  head.method = method;
  head.path = "/v1/models";
  head.host = host;
  head.content_type = "application/json";
  return head;
}

int status_of(const Request& head, const Access& access) {
  const auto refusal = refusal_of(head, access);
  return refusal ? refusal->status : 200;
}

TEST(Access, is_for_addresses_localhost_and_the_names_that_are_served) {
  const Access access{{}, {"Box.example"}, {}};
  for (const char* host : {"localhost", "LOCALHOST:8080", "127.0.0.1:80", "[::1]:8080", "[::1]", "192.168.0.7",
                           "box.example", "box.EXAMPLE.:8080"})
    EXPECT_EQ(status_of(head_of("GET", host), access), 200) << host;
  for (const char* host : {"evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "box.example.evil", "[",
                           "[]", ":", "127.0.0.256", "::1:x"})
    EXPECT_EQ(status_of(head_of("GET", host), access), 403) << host;
}

TEST(Access, needs_a_host_from_http_1_1_on) {
  Request head = head_of("GET", "");
  EXPECT_EQ(status_of(head, {}), 403);
  head.is_old = true;
  EXPECT_EQ(status_of(head, {}), 200);
}

TEST(Access, needs_one_of_the_keys_where_there_are_some) {
  const Access access{{"one", "second"}, {}, {}, {"/health"}};
  Request head = head_of("GET", "localhost");
  EXPECT_EQ(status_of(head, access), 401);
  EXPECT_THAT(refusal_of(head, access)->headers, ::testing::Contains(::testing::Pair("WWW-Authenticate", "Bearer")));
  for (const char* given : {"Bearer one", "bearer  second ", "BEARER one"}) {
    head.authorization = given;
    EXPECT_EQ(status_of(head, access), 200) << given;
  }
  for (const char* given :
       {"Bearer", "Bearer on", "Bearer onee", "Basic one", "one", "Bearer One", "Bearer one second"}) {
    head.authorization = given;
    EXPECT_EQ(status_of(head, access), 401) << given;
  }
  head.path = "/health";
  EXPECT_EQ(status_of(head, access), 200) << "whoever watches the server has no key";
}

TEST(Access, takes_bodies_that_are_declared_as_json_alone) {
  Request head = head_of("POST", "localhost");
  for (const char* type : {"application/json", "Application/JSON; charset=utf-8", " application/json "}) {
    head.content_type = type;
    EXPECT_EQ(status_of(head, {}), 200) << type;
  }
  for (const char* type : {"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data",
                           "application/jsonp", "text/plain; application/json"}) {
    head.content_type = type;
    EXPECT_EQ(status_of(head, {}), 415) << type;
  }
}

TEST(Access, is_for_one_host_at_a_time) {
  Request head = head_of("GET", "localhost");
  head.hosts = 2;
  EXPECT_EQ(status_of(head, {}), 400);
}

TEST(Access, takes_bodies_that_are_not_packed_alone) {
  Request head = head_of("POST", "localhost");
  for (const char* plain : {"identity", " Identity "}) {
    head.content_encoding = plain;
    EXPECT_EQ(status_of(head, {}), 200) << plain;
  }
  for (const char* packed : {"gzip", "br", "identity, gzip"}) {
    head.content_encoding = packed;
    EXPECT_EQ(status_of(head, {}), 415) << packed;
  }
  head.content_encoding.clear();
  for (const auto& [encoding, status] : {std::pair("chunked", 200), {"Chunked", 200}, {"gzip, chunked", 501}}) {
    head.transfer_encoding = encoding;
    EXPECT_EQ(status_of(head, {}), status) << encoding;
  }
}

TEST(Access, lets_an_allowed_page_send_the_headers_that_it_asks_for) {
  Request head = head_of("OPTIONS", "localhost");
  head.origin = "https://chat.example";
  const Access access{{}, {}, {"https://chat.example"}};
  const auto allowed = [&](const std::string& wanted) {
    head.wanted_headers = wanted;
    for (const auto& [name, value] : cors_headers(head, access))
      if (name == "Access-Control-Allow-Headers") return value;
    return std::string();
  };
  EXPECT_EQ(allowed(""), "Authorization, Content-Type");
  EXPECT_EQ(allowed("x-stainless-os,x-stainless-lang"), "Authorization, Content-Type, x-stainless-os,x-stainless-lang");
  EXPECT_EQ(allowed("x\x01"), "Authorization, Content-Type") << "what is sent back is plain";
}

TEST(Access, of_pages_is_for_the_allowed_ones) {
  Request head = head_of("GET", "localhost");
  head.origin = "https://chat.example";
  EXPECT_TRUE(cors_headers(head, {}).empty());
  EXPECT_TRUE(cors_headers(head, {{}, {}, {"https://other.example"}}).empty());
  const auto headers = cors_headers(head, {{}, {}, {"https://Chat.example"}});
  ASSERT_FALSE(headers.empty());
  EXPECT_EQ(headers.front().second, "https://chat.example");
  EXPECT_FALSE(cors_headers(head, {{}, {}, {"*"}}).empty());
  head.origin = "https://chat.example\x01";
  EXPECT_TRUE(cors_headers(head, {{}, {}, {"*"}}).empty()) << "what is sent back is plain";
}

TEST(Access, lets_an_allowed_page_ask_without_a_key_what_it_may) {
  const Access access{{"key"}, {}, {"https://chat.example"}};
  Request head = head_of("OPTIONS", "localhost");
  EXPECT_EQ(status_of(head, access), 401);
  head.origin = "https://chat.example";
  EXPECT_EQ(status_of(head, access), 200);
}

TEST(Access, knows_the_loopback_addresses) {
  for (const char* host : {"localhost", "127.0.0.1", "127.9.9.9", "::1"}) EXPECT_TRUE(is_loopback(host)) << host;
  for (const char* host : {"0.0.0.0", "::", "10.0.0.1", "box", "", "128.0.0.1"})
    EXPECT_FALSE(is_loopback(host)) << host;
}

TEST(Access, compares_secrets_by_all_of_their_letters) {
  EXPECT_TRUE(same_secret("", ""));
  EXPECT_TRUE(same_secret("abc", "abc"));
  for (const auto& [a, b] : {std::pair{"abc", "abd"}, {"abc", "ab"}, {"ab", "abc"}, {"", "a"}, {"a", ""}, {"aa", "a"}})
    EXPECT_FALSE(same_secret(a, b)) << a << " " << b;
}

TEST(Access, logs_letters_alone) {
  EXPECT_EQ(printable("a\n\x1b[31m\xff"), "a\\x0A\\x1B[31m\\xFF");
  EXPECT_EQ(printable("abcdef", 3), "abc...");
}

}  // namespace
}  // namespace tandem::http
