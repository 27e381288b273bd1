// HTTP on a real socket: well-behaved clients.
#include "engine/serve/http/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <optional>
#include <thread>

#include "sync/error.h"
#include "tests/engine/serve/test_server.h"
#include "tests/support/message_of.h"

namespace tandem::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Server, answers_requests_one_after_another_on_a_connection) {
  http::Server server(quick_options(), echo);
  Client client(server.port());
  client.send(get("/a?b=c"));
  const Answered first = client.answer();
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(first.body, "GET /a ");
  EXPECT_THAT(first.head, HasSubstr("Content-Type: text/plain\r\n"));
  EXPECT_THAT(first.head, Not(HasSubstr("Access-Control")));
  client.send(post("/b", "{}"));
  EXPECT_EQ(client.answer().body, "POST /b {}");
}

TEST(Server, answers_requests_that_came_together_in_their_order) {
  http::Server server(quick_options(), echo);
  Client client(server.port());
  client.send(get("/1") + post("/2", "{\"a\":1}") + get("/3"));
  EXPECT_EQ(client.answer().body, "GET /1 ");
  EXPECT_EQ(client.answer().body, "POST /2 {\"a\":1}");
  EXPECT_EQ(client.answer().body, "GET /3 ");
}

TEST(Server, passes_over_line_ends_in_front_of_a_request) {
  http::Server server(quick_options(), echo);
  Client client(server.port());
  client.send("\r\n\n" + get("/a") + "\r\n" + get("/b") + "\r");
  ASSERT_TRUE(client.read_until("GET /b "));
  client.send("\n\r\n");
  client.send(get("/c"));
  ASSERT_TRUE(client.read_until("GET /c "));
  EXPECT_EQ(client.read().find("400"), std::string::npos) << client.read();
}

TEST(Server, reads_bodies_in_chunks_and_waits_for_a_go_ahead) {
  http::Server server(quick_options(), echo);
  const std::string head = "POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
  EXPECT_EQ(ask(server.port(), head + "Transfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n4\r\n\":1}\r\n0\r\n\r\n").body,
            "POST /x {\"a\":1}");
  Client client(server.port());
  client.send(head + "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  ASSERT_TRUE(client.read_until("100 Continue\r\n\r\n"));
  client.send("{}");
  EXPECT_TRUE(client.read_until("POST /x {}"));
}

TEST(Server, takes_the_host_and_the_path_of_a_proxys_client) {
  http::Server server(quick_options(), echo);
  const auto body = [&](const std::string& target, const std::string& host) {
    const Answered answer = ask(server.port(), "GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
    return answer.status == 200 ? answer.body : std::to_string(answer.status);
  };
  EXPECT_EQ(body("http://127.0.0.1:8080/v1/models?a=b", "localhost"), "GET /v1/models ");
  EXPECT_EQ(body("HTTP://localhost", "localhost"), "GET / ");
  EXPECT_EQ(body("http://localhost?a=b", "localhost"), "GET / ");
  EXPECT_EQ(body("http://evil.example/", "localhost"), "403") << "the host of the target counts";
  EXPECT_EQ(body("/http://evil.example/", "localhost"), "GET /http://evil.example/ ");
  EXPECT_EQ(ask(server.port(), get("/", "Host: 127.0.0.1\r\n")).status, 400) << "two hosts";
}

TEST(Server, ends_the_connection_of_old_or_unwilling_clients) {
  http::Server server(quick_options(), echo);
  for (const char* request :
       {"GET /x HTTP/1.0\r\n\r\n", "GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"}) {
    Client client(server.port());
    client.send(request);
    EXPECT_THAT(client.read_all(), ::testing::EndsWith("GET /x "));
  }
}

TEST(Server, answers_head_without_a_body) {
  http::Server server(quick_options(), echo);
  Client client(server.port());
  client.send("HEAD /x HTTP/1.1\r\nHost: localhost\r\n\r\n" + get("/y"));
  ASSERT_TRUE(client.read_until("GET /y "));
  EXPECT_THAT(client.read(), HasSubstr("Content-Length: 7\r\n"));
  EXPECT_THAT(client.read(), Not(HasSubstr("GET /x")));
}

// Another thread writes the stream, as an engine's does.
TEST(Server, sends_a_stream_as_it_comes) {
  std::promise<Handed> asked;
  http::Server server(quick_options(), [&](Handed exchange) { asked.set_value(std::move(exchange)); });
  Client client(server.port());
  client.send(get("/"));
  Handed exchange = asked.get_future().get();
  exchange->begin({200, "one ", "text/event-stream"});
  ASSERT_TRUE(client.read_until("one "));
  EXPECT_TRUE(exchange->write("two "));
  ASSERT_TRUE(client.read_until("two "));
  EXPECT_TRUE(exchange->write("three"));
  exchange->end();
  const Answered answer = client.answer();
  EXPECT_EQ(answer.body, "one two three");
  EXPECT_FALSE(exchange->write("four")) << "it has ended";
}

// A socket takes a part of such a piece. The rest follows when the client reads.
TEST(Server, sends_all_of_a_stream_to_a_client_that_reads_late) {
  http::ServerOptions options = quick_options();
  options.write_time = std::chrono::seconds(20);
  options.most_kept_bytes = 16 << 20;
  std::promise<Handed> asked;
  http::Server server(options, [&](Handed exchange) { asked.set_value(std::move(exchange)); });
  Client client(server.port(), 4096);
  client.send(get("/"));
  Handed exchange = asked.get_future().get();
  exchange->begin({200, "", "text/event-stream"});
  ASSERT_TRUE(client.read_until("\r\n\r\n"));
  std::string expected;
  for (const char letter : {'a', 'b', 'c', 'd'}) {
    EXPECT_TRUE(exchange->write(std::string(2 << 20, letter)));
    expected += std::string(2 << 20, letter);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  exchange->end();
  EXPECT_EQ(client.answer().body == expected, true) << "all bytes in their order";
}

// A handler may hold an exchange for longer than the server lives. It learns that nobody reads.
TEST(Server, that_ends_leaves_exchanges_without_a_client) {
  std::promise<Handed> asked;
  std::optional<http::Server> server;
  server.emplace(quick_options(), [&](Handed exchange) { asked.set_value(std::move(exchange)); });
  Client client(server->port());
  client.send(get("/"));
  Handed exchange = asked.get_future().get();
  std::atomic<bool> is_gone = false;
  exchange->when_gone([&] { is_gone = true; });
  exchange->begin({200, "a", "text/event-stream"});
  ASSERT_TRUE(client.read_until("a"));
  server.reset();
  EXPECT_TRUE(is_gone);
  EXPECT_FALSE(exchange->write("b"));
  exchange->end();
}

TEST(Server, does_not_chunk_a_stream_for_an_old_client) {
  http::Server server(quick_options(), [](const Handed& exchange) {
    exchange->begin({200, "a", "text/plain"});
    exchange->write("b");
    exchange->end();
  });
  Client client(server.port());
  client.send("GET / HTTP/1.0\r\n\r\n");
  EXPECT_THAT(client.read_all(), ::testing::EndsWith("\r\n\r\nab"));
}

TEST(Server, answers_for_a_handler_that_drops_a_request) {
  http::Server server(quick_options(), [](const Handed&) {});
  EXPECT_EQ(ask(server.port(), get("/")).status, 500);
}

TEST(Server, cuts_a_stream_that_its_handler_drops) {
  http::Server server(quick_options(), [](const Handed& exchange) { exchange->begin({200, "a", "text/plain"}); });
  Client client(server.port());
  client.send(get("/"));
  EXPECT_THAT(client.read_all(), Not(HasSubstr("0\r\n\r\n"))) << "so that the client sees that it is not whole";
}

TEST(Server, counts_the_first_answer_alone) {
  http::Server server(quick_options(), [](const Handed& exchange) {
    exchange->answer({404, "first"});
    exchange->answer({200, "second"});
    exchange->begin({200, "third"});
    EXPECT_FALSE(exchange->write("fourth"));
  });
  const Answered answer = ask(server.port(), get("/"));
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(answer.body, "first");
}

TEST(Server, says_when_a_client_has_left) {
  std::promise<Handed> asked;
  http::Server server(quick_options(), [&](Handed exchange) { asked.set_value(std::move(exchange)); });
  Client client(server.port());
  client.send(get("/"));
  Handed exchange = asked.get_future().get();
  std::promise<void> gone;
  exchange->when_gone([&] { gone.set_value(); });
  auto is_gone = gone.get_future();
  EXPECT_EQ(is_gone.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  client.leave();
  EXPECT_EQ(is_gone.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  bool is_told = false;
  exchange->when_gone([&] { is_told = true; });
  EXPECT_TRUE(is_told) << "at once, because it has left already";
  exchange->begin({200, "", "text/plain"});
  EXPECT_FALSE(exchange->write("x"));
}

// The end of the connection stands behind bytes that the server reads only for the next answer.
TEST(Server, says_when_a_client_has_left_that_had_sent_more) {
  for (const std::string& more : {get("/next"), std::string("\r\n")})
    for (const bool comes_later : {false, true}) {
      std::promise<Handed> asked;
      http::Server server(quick_options(), [&](Handed exchange) { asked.set_value(std::move(exchange)); });
      Client client(server.port());
      client.send(get("/") + (comes_later ? "" : more));
      const Handed exchange = asked.get_future().get();
      if (comes_later) client.send(more);
      std::promise<void> gone;
      exchange->when_gone([&] { gone.set_value(); });
      auto is_gone = gone.get_future();
      EXPECT_EQ(is_gone.wait_for(std::chrono::milliseconds(700)), std::future_status::timeout) << "it is still there";
      client.leave();
      EXPECT_EQ(is_gone.wait_for(std::chrono::seconds(10)), std::future_status::ready) << more << comes_later;
    }
}

// A handler that writes for ever held such a connection, and a place among the listeners.
TEST(Server, answers_head_of_a_stream_without_waiting_for_its_end) {
  std::promise<Handed> asked;
  http::Server server(quick_options(), [&](Handed exchange) {
    if (exchange->request().path != "/stream") return echo(exchange);
    exchange->begin({200, "", "text/event-stream"});
    asked.set_value(std::move(exchange));
  });
  Client client(server.port());
  client.send("HEAD /stream HTTP/1.1\r\nHost: localhost\r\n\r\n" + get("/y"));
  const Handed exchange = asked.get_future().get();
  ASSERT_TRUE(client.read_until("GET /y "));
  EXPECT_FALSE(exchange->write("x")) << "nobody reads it";
}

TEST(Server, asks_for_what_the_access_rules_say) {
  http::ServerOptions options = quick_options();
  options.access = {{"secret"}, {}, {"https://chat.example"}, {"/health"}};
  http::Server server(options, echo);
  EXPECT_EQ(ask(server.port(), get("/x")).status, 401);
  EXPECT_EQ(ask(server.port(), get("/x", "Authorization: Bearer secret\r\n")).status, 200);
  EXPECT_EQ(ask(server.port(), get("/health")).status, 200);
  EXPECT_EQ(ask(server.port(), "GET /health HTTP/1.1\r\nHost: evil.example\r\n\r\n").status, 403);
  const std::string form =
      "POST /x HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer secret\r\nContent-Type: "
      "text/plain\r\nContent-Length: 2\r\n\r\n{}";
  EXPECT_EQ(ask(server.port(), form).status, 415);
}

TEST(Server, lets_allowed_pages_read_its_answers) {
  http::ServerOptions options = quick_options();
  options.access = {{"secret"}, {}, {"https://chat.example"}};
  http::Server server(options, echo);
  const std::string origin = "Origin: https://chat.example\r\n";
  const Answered may = ask(server.port(), "OPTIONS /x HTTP/1.1\r\nHost: localhost\r\n" + origin + "\r\n");
  EXPECT_EQ(may.status, 204);
  EXPECT_THAT(may.head, HasSubstr("Access-Control-Allow-Origin: https://chat.example\r\n"));
  EXPECT_THAT(may.head, HasSubstr("Access-Control-Allow-Headers: Authorization, Content-Type\r\n"));
  const std::string wanted = "Access-Control-Request-Headers: x-stainless-os\r\n";
  EXPECT_THAT(ask(server.port(), "OPTIONS /x HTTP/1.1\r\nHost: localhost\r\n" + origin + wanted + "\r\n").head,
              HasSubstr("Access-Control-Allow-Headers: Authorization, Content-Type, x-stainless-os\r\n"));
  EXPECT_THAT(ask(server.port(), get("/x", origin + "Authorization: Bearer secret\r\n")).head,
              HasSubstr("Access-Control-Allow-Origin: https://chat.example\r\n"));
  EXPECT_THAT(ask(server.port(), get("/x", origin)).head,
              HasSubstr("Access-Control-Allow-Origin: https://chat.example\r\n"))
      << "so that a page can show why it was refused";
}

TEST(Server, that_finds_its_port_taken_says_so) {
  http::Server first(quick_options(), echo);
  http::ServerOptions options = quick_options();
  options.port = first.port();
  EXPECT_THAT(test::message_of([&] { http::Server second(options, echo); }), HasSubstr("the port is taken"));
}

TEST(Server, that_has_no_such_address_says_so) {
  http::ServerOptions options = quick_options();
  options.host = "192.0.2.1";  // reserved for documents
  EXPECT_THROW(http::Server(options, echo), Error);
  options.host = "no such name";
  EXPECT_THROW(http::Server(options, echo), Error);
}

TEST(Server, that_stops_listening_ends_what_it_has_begun) {
  std::promise<Handed> asked;
  http::Server server(quick_options(), [&](Handed exchange) { asked.set_value(std::move(exchange)); });
  Client busy(server.port()), idle(server.port());
  busy.send(get("/"));
  Handed exchange = asked.get_future().get();
  server.stop_listening();
  EXPECT_EQ(idle.read_all(), "");
  EXPECT_FALSE(Client(server.port()).is_open());
  exchange->answer({200, "still"});
  EXPECT_THAT(busy.read_all(), ::testing::EndsWith("still")) << "and then the connection ends";
}

}  // namespace
}  // namespace tandem::testing
