// HTTP on a real socket: clients that rest, stop in the middle, send too much, or never read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <future>
#include <thread>
#include <vector>

#include "tests/engine/serve/test_server.h"

namespace tandem::testing {
namespace {

using ::testing::HasSubstr;

// Others are answered while these clients are there.
void expect_answers(uint16_t port) { EXPECT_EQ(ask(port, get("/ok")).body, "GET /ok "); }

TEST(HostileClients, that_rest_do_not_hold_up_others) {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  if (files.rlim_max < 2200) GTEST_SKIP() << "this system allows a process " << files.rlim_max << " descriptors";
  http::Server server(quick_options(), echo);  // asks for as many descriptors as it may have
  std::vector<Client> idle;
  for (int i = 0; i < 1000; ++i) idle.emplace_back(server.port());
  for (const Client& each : idle) ASSERT_TRUE(each.is_open());
  expect_answers(server.port());
  idle.back().send(get("/late"));
  EXPECT_EQ(idle.back().answer().body, "GET /late ");
}

TEST(HostileClients, that_send_half_a_head_are_cut_off) {
  http::Server server(quick_options(), echo);
  std::vector<Client> half;
  for (int i = 0; i < 64; ++i) {
    half.emplace_back(server.port());
    half.back().send("GET / HTTP/1.1\r\nHost: local");
  }
  expect_answers(server.port());
  for (Client& each : half) EXPECT_EQ(each.read_all(), "");
}

TEST(HostileClients, that_send_half_a_body_are_cut_off) {
  http::Server server(quick_options(), echo);
  Client client(server.port());
  client.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{");
  expect_answers(server.port());
  EXPECT_EQ(client.read_all(), "");
}

// A byte now and then does not make a head's time longer.
TEST(HostileClients, that_send_slowly_are_cut_off) {
  http::Server server(quick_options(), echo);
  Client client(server.port());
  const auto started = std::chrono::steady_clock::now();
  client.send("GET / HTTP/1.1\r\n");
  while (client.send("a") && std::chrono::steady_clock::now() - started < std::chrono::seconds(10))
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(10));
}

TEST(HostileClients, that_send_too_large_a_head_are_told) {
  http::Server server(quick_options(), echo);
  EXPECT_EQ(ask(server.port(), get("/", "X: " + std::string(20 << 10, 'x') + "\r\n")).status, 431);
  EXPECT_EQ(ask(server.port(), get("/" + std::string(20 << 10, 'x'))).status, 431);
  EXPECT_EQ(ask(server.port(), get("/", "X: " + std::string(12 << 10, 'x') + "\r\n")).status, 200);
}

TEST(HostileClients, that_send_too_large_a_body_are_told) {
  http::ServerOptions options = quick_options();
  options.most_body_bytes = 1000;
  http::Server server(options, echo);
  EXPECT_EQ(ask(server.port(), post("/", std::string(1001, 'x'))).status, 413);
  EXPECT_EQ(ask(server.port(), post("/", std::string(1000, 'x'))).status, 200);
  const std::string head =
      "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(ask(server.port(), head + "7d0\r\n" + std::string(2000, 'x') + "\r\n0\r\n\r\n").status, 413);
  EXPECT_EQ(ask(server.port(),
                "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                "Content-Length: 99999999999999999999\r\n\r\n")
                .status,
            400);
}

TEST(HostileClients, that_speak_no_http_are_told) {
  http::Server server(quick_options(), echo);
  for (const std::string& words :
       {std::string("hello\r\n\r\n"), std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 15),
        std::string("GET / HTTP/9.9\r\nHost: localhost\r\n\r\n"),
        std::string("GET / HTTP/1.1\r\nHost localhost\r\n\r\n"),
        std::string(
            "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: -1\r\n\r\n")})
    EXPECT_EQ(ask(server.port(), words).status, 400) << words;
  const std::string head = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
  EXPECT_EQ(ask(server.port(), head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n").status, 400)
      << "a chunk of no length";
  EXPECT_EQ(ask(server.port(), head + "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}").status, 415);
  EXPECT_EQ(ask(server.port(), head + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n").status, 501);
  expect_answers(server.port());
}

// The server keeps unread bytes up to a bound. Then the stream ends, and its writer learns that.
TEST(HostileClients, that_never_read_end_their_own_stream) {
  http::ServerOptions options = quick_options();
  options.most_kept_bytes = 100'000;
  options.write_time = std::chrono::seconds(60);  // which does not end it
  std::promise<Handed> asked;
  http::Server server(options, [&](Handed exchange) {
    if (exchange->request().path == "/ok") return echo(exchange);
    asked.set_value(std::move(exchange));
  });
  Client client(server.port(), 4096);
  client.send(get("/stream"));
  Handed exchange = asked.get_future().get();
  bool is_gone = false;
  exchange->when_gone([&] { is_gone = true; });
  exchange->begin({200, "", "text/plain"});
  const std::string piece(10'000, 'x');
  int written = 0;
  while (written < 20'000 && exchange->write(piece)) ++written;
  EXPECT_LT(written, 20'000) << "200 MB are not kept";
  EXPECT_TRUE(is_gone);
  expect_answers(server.port());
}

// A text that has ended waits for its client for a time.
TEST(HostileClients, that_stop_reading_an_answer_lose_their_connection) {
  http::Server server(quick_options(), [](const Handed& exchange) {
    if (exchange->request().path == "/ok") return echo(exchange);
    exchange->answer({200, std::string(32 << 20, 'x'), "text/plain"});
  });
  Client client(server.port(), 4096);
  client.send(get("/"));
  ASSERT_TRUE(client.read_until("\r\n\r\n"));
  expect_answers(server.port());
  for (int i = 0; i < 500 && server.connections() > 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(server.connections(), 0u);
}

TEST(HostileClients, that_are_too_many_take_the_places_of_those_that_rest) {
  http::ServerOptions options = quick_options();
  options.most_connections = 8;
  http::Server server(options, echo);
  std::vector<Client> idle;
  for (int i = 0; i < 20; ++i) idle.emplace_back(server.port());
  expect_answers(server.port());
  EXPECT_EQ(idle.front().read_all(), "") << "the one that rested longest";
}

TEST(HostileClients, that_leave_at_any_moment_leave_nothing_behind) {
  http::Server server(quick_options(), echo);
  const std::string whole = post("/x", "{\"a\":1}");
  for (size_t bytes = 0; bytes <= whole.size(); bytes += 3) {
    Client client(server.port());
    client.send(whole.substr(0, bytes));
  }
  for (int i = 0; i < 500 && server.connections() > 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(server.connections(), 0u);
  expect_answers(server.port());
}

}  // namespace
}  // namespace tandem::testing
