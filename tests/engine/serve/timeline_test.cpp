// Passes told to clients: when steps are recorded, the events, a feed with clients of the test, and the route.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "engine/serve/timeline/events.h"
#include "engine/serve/timeline/feed.h"
#include "engine/serve/timeline/step_sampling.h"
#include "sync/clock.h"
#include "tests/engine/serve/served.h"

namespace tandem::testing {
namespace {

using serve::ChipPass;
using serve::Feed;
using serve::FeedOptions;
using serve::Json;
using serve::NumberedPass;
using serve::StepSampling;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A pass of 4 tokens took 10 ms alone and 13 ms recorded: the cost is 3 ms, a hundred times that is 0.3 s.
TEST(StepSampling, waits_a_hundred_times_what_the_last_recording_cost) {
  StepSampling sampling;
  EXPECT_TRUE(sampling.is_due(0));
  sampling.add(4, 0.010, false, 1.0);
  sampling.add(4, 0.013, true, 2.0);
  EXPECT_FALSE(sampling.is_due(2.29));
  EXPECT_TRUE(sampling.is_due(2.31));
}

// Nothing is known about 9 tokens, so 2 % of 0.5 s count: 1 s. 2 % of 1 ms would be too soon, and of 40 s too late.
TEST(StepSampling, counts_two_parts_in_a_hundred_at_least_within_bounds) {
  StepSampling sampling;
  sampling.add(9, 0.5, true, 10);
  EXPECT_FALSE(sampling.is_due(10.99));
  EXPECT_TRUE(sampling.is_due(11.01));
  sampling.add(1, 0.001, true, 20);
  EXPECT_FALSE(sampling.is_due(20.19));
  EXPECT_TRUE(sampling.is_due(20.21));
  sampling.add(512, 40, true, 100);
  EXPECT_FALSE(sampling.is_due(104.9));
  EXPECT_TRUE(sampling.is_due(105.1));
}

Span span(const std::string& device, SpanKind kind, const std::string& name, double begin, double end) {
  Span made{device, name, begin, end};
  made.device = device;
  made.kind = kind;
  return made;
}

PassRecord some_pass(int64_t tokens = 3) {
  PassRecord record;
  record.start_seconds = 12.5;
  record.end_seconds = 12.5 + 0.002;
  record.plan = "tensor";
  record.texts = {{"chatcmpl-1", tokens, 40, true}, {"cmpl-2", 1, 7, false}};
  record.written = 1;
  record.pages = 64;
  record.used_pages = 5;
  return record;
}

TEST(TimelineEvents, say_what_shares_a_pass) {
  const Json json = serve::pass_json({8, some_pass()}, 12.0);
  EXPECT_EQ(json, Json::parse(R"({"number":8,"begin":500000,"length":2000,"plan":"tensor","tokens":4,"written":1,
    "pages":5,"all_pages":64,"texts":[{"name":"chatcmpl-1","kind":"prompt","tokens":3,"position":40},
    {"name":"cmpl-2","kind":"answer","tokens":1,"position":7}]})"));
}

TEST(TimelineEvents, have_measured_steps_and_waits_from_the_begin_of_the_pass) {
  PassRecord record = some_pass();
  record.has_steps = true;
  record.spans = {span("npu:0", SpanKind::matmul, "layer 0 qkv", 12.5001, 12.5006),
                  span("host", SpanKind::wait, "before layer 0 attend", 12.5, 12.50061),
                  span("npu:0", SpanKind::other_operator, "layer 0 add", 12.5007, 12.5008),
                  Span{"orchestrator", "tensor", 12.5, 12.502}};
  record.spans.push_back(span("npu:0", SpanKind::none, "on a chip", 12.5, 12.6));
  record.spans.back().modelled = true;
  const Json json = serve::pass_json({1, record}, 12.5);
  EXPECT_EQ(json.at("lanes"), Json({"npu:0", "host"}));
  EXPECT_EQ(json.at("steps"), Json::parse(R"([[0,"matmul","layer 0 qkv",100.0,500.0],
    [1,"wait","before layer 0 attend",0.0,610.0],[0,"other","layer 0 add",700.0,100.0]])"));
}

TEST(TimelineEvents, leave_out_steps_beyond_what_a_client_may_keep) {
  PassRecord record = some_pass();
  record.has_steps = true;
  record.spans.assign(6001, span("host", SpanKind::matmul, "layer 0 \"qkv\"\n", 12.5, 12.6));
  const Json json = serve::pass_json({1, record}, 0);
  EXPECT_EQ(json.at("steps").size(), 6000u);
  EXPECT_EQ(json.at("is_cut"), true);
}

TEST(TimelineEvents, are_one_line_of_data_each) {
  const std::string one = serve::passes_json({{1, some_pass()}, {2, some_pass()}}, 0);
  const std::string event = serve::passes_event(one, {3, 2, 181.26}, 7);
  EXPECT_THAT(event, StartsWith("event: passes\ndata: {"));
  const Json json = Json::parse(event.substr(std::string("event: passes\ndata: ").size()));
  EXPECT_EQ(json.at("passes").size(), 2u);
  EXPECT_EQ(json.at("lost"), 7);
  EXPECT_EQ(json.at("waiting"), 3);
  EXPECT_EQ(json.at("active"), 2);
  EXPECT_EQ(json.at("tokens_per_second"), 181.3);
  EXPECT_EQ(serve::passes_event("", {}, 0).find('\n'), std::string("event: passes").size());
}

TEST(TimelineEvents, say_which_times_are_modelled) {
  const serve::ChipClock chip{"a phone", "tensor", [](int64_t, int64_t) { return ChipPass{}; }};
  const ChipPass pass{0.004, 0.02, {"gpu", "npu"}, {{1, "matmul", "layer 0 qkv", 0.001, 0.0015}}};
  const std::string event = serve::modelled_event(chip, 5, 1, 256, pass);
  EXPECT_THAT(event, StartsWith("event: modelled\ndata: "));
  const Json json = Json::parse(event.substr(event.find('{')));
  EXPECT_EQ(json, Json::parse(R"({"clock":"modelled","soc":"a phone","plan":"tensor","number":5,"tokens":1,
    "position":256,"length":4000,"joules":0.02,"lanes":["gpu","npu"],"steps":[[1,"matmul","layer 0 qkv",1000.0,500.0]]})"));
  EXPECT_THAT(serve::server_event({"m", "1", {"host"}, 4, 128}, chip), HasSubstr(R"("soc":{"name":"a phone")"));
  EXPECT_THAT(serve::server_event({"m", "1", {"host"}, 4, 128}, {}), HasSubstr(R"("soc":null)"));
}

// A client that keeps what it gets, and may claim not to have read it.
class Listener : public http::Exchange {
 public:
  const http::Request& request() const override { return request_; }
  void answer(http::Response) override {}
  void begin(http::Response head) override { write(std::move(head.body)); }
  bool write(std::string piece) override {
    const std::lock_guard lock(mutex_);
    text_ += piece;
    return true;
  }
  void end() override { has_ended = true; }
  size_t unread_bytes() const override { return unread; }
  void when_gone(std::function<void()> call) override { gone = std::move(call); }
  std::string text() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }
  bool wait_for(const std::string& words) const {
    for (int i = 0; i < 500 && text().find(words) == std::string::npos; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return text().find(words) != std::string::npos;
  }
  std::function<void()> gone;
  std::atomic<size_t> unread = 0;
  std::atomic<bool> has_ended = false;

 private:
  const http::Request request_;
  mutable std::mutex mutex_;
  std::string text_;
};

FeedOptions options_of_feed() {
  return {{"tiny", "1", {"host"}, 2, 128}, [] { return serve::WatchedLoad{4, 1}; }};
}

TEST(Feed, wants_nothing_without_a_client) {
  Feed feed(options_of_feed());
  EXPECT_EQ(feed.wanted(1), PassWatch::Detail::nothing);
  const auto listener = std::make_shared<Listener>();
  ASSERT_TRUE(feed.add(listener));
  EXPECT_EQ(feed.wanted(1), PassWatch::Detail::steps) << "the first pass shows its steps";
  PassRecord recorded = some_pass();
  recorded.has_steps = true;
  recorded.start_seconds = now_seconds();
  recorded.end_seconds = recorded.start_seconds + 0.5;
  feed.take(recorded);
  EXPECT_EQ(feed.wanted(1), PassWatch::Detail::pass) << "the next ones need not";
  listener->gone();
  EXPECT_EQ(feed.wanted(1), PassWatch::Detail::nothing);
  EXPECT_EQ(feed.clients(), 0u);
}

TEST(Feed, tells_each_client_of_each_pass) {
  Feed feed(options_of_feed());
  const auto one = std::make_shared<Listener>(), two = std::make_shared<Listener>();
  feed.add(one);
  feed.add(two);
  for (int i = 0; i < 5; ++i) feed.take(some_pass());
  for (const auto& each : {one, two}) {
    ASSERT_TRUE(each->wait_for(R"("number":5,)"));
    EXPECT_THAT(each->text(), StartsWith("event: server\n"));
    EXPECT_THAT(each->text(), HasSubstr(R"("number":1,)"));
    EXPECT_THAT(each->text(), HasSubstr(R"("waiting":4)"));
  }
}

TEST(Feed, lets_a_slow_client_lose_passes_and_tells_it_how_many) {
  FeedOptions options = options_of_feed();
  options.most_unread_bytes = 100;
  Feed feed(std::move(options));
  const auto slow = std::make_shared<Listener>(), quick = std::make_shared<Listener>();
  feed.add(slow);
  feed.add(quick);
  slow->unread = 101;
  for (int i = 0; i < 3; ++i) feed.take(some_pass());
  ASSERT_TRUE(quick->wait_for(R"("number":3,)"));
  EXPECT_THAT(slow->text(), Not(HasSubstr("\"number\"")));
  slow->unread = 0;
  feed.take(some_pass());
  ASSERT_TRUE(slow->wait_for(R"("number":4,)"));
  EXPECT_THAT(slow->text(), HasSubstr(R"("lost":3)"));
  EXPECT_THAT(slow->text(), Not(HasSubstr(R"("number":3,)")));
  EXPECT_THAT(quick->text(), Not(HasSubstr(R"("lost":3)")));
}

TEST(Feed, keeps_a_bounded_number_of_passes_and_clients) {
  FeedOptions options = options_of_feed();
  options.most_clients = 1;
  options.most_pending = 2;
  Feed feed(std::move(options));
  const auto listener = std::make_shared<Listener>();
  EXPECT_TRUE(feed.add(listener));
  EXPECT_FALSE(feed.add(std::make_shared<Listener>()));
  for (int i = 0; i < 6; ++i) feed.take(some_pass());
  ASSERT_TRUE(listener->wait_for("\"lost\":4"));
  EXPECT_THAT(listener->text(), HasSubstr(R"("number":2,)"));
  EXPECT_THAT(listener->text(), Not(HasSubstr(R"("number":3,)")));
}

TEST(Feed, ends_its_answers_when_it_closes) {
  Feed feed(options_of_feed());
  const auto listener = std::make_shared<Listener>(), late = std::make_shared<Listener>();
  feed.add(listener);
  feed.close();
  EXPECT_TRUE(listener->has_ended);
  feed.add(late);
  EXPECT_TRUE(late->has_ended);
  EXPECT_EQ(feed.wanted(1), PassWatch::Detail::nothing);
}

TEST(Feed, tells_how_long_a_recorded_pass_would_take_on_a_chip) {
  FeedOptions options = options_of_feed();
  std::atomic<int> asked = 0;
  options.chip = {"a phone", "tensor", [&asked](int64_t tokens, int64_t position) {
                    ++asked;
                    EXPECT_EQ(tokens, 4);
                    EXPECT_EQ(position, 0) << "positions below 256 count as alike";
                    return ChipPass{0.003, 0.1, {"npu"}, {}};
                  }};
  Feed feed(std::move(options));
  const auto listener = std::make_shared<Listener>();
  feed.add(listener);
  feed.take(some_pass());
  ASSERT_TRUE(listener->wait_for(R"("number":1,)"));
  EXPECT_EQ(asked, 0) << "its steps were not recorded";
  PassRecord recorded = some_pass();
  recorded.has_steps = true;
  feed.take(recorded);
  ASSERT_TRUE(listener->wait_for("event: modelled\n"));
  EXPECT_THAT(listener->text(), HasSubstr(R"("clock":"modelled","soc":"a phone")"));
  feed.take(recorded);
  ASSERT_TRUE(listener->wait_for(R"("number":3,)"));
  EXPECT_EQ(asked, 1) << "a pass of a known kind is not planned again";
}

std::string asked_text(int tokens) {
  return R"({"prompt":[3,4,5,6],"ignore_eos":true,"temperature":0,"max_tokens":)" + std::to_string(tokens) + "}";
}

TEST(Timeline, shows_passes_while_texts_are_written) {
  const Served served;
  Client client(served.port());
  client.send(get("/tandem/timeline"));
  ASSERT_TRUE(client.read_until("event: server\n"));
  const Json answer = served.json("/v1/completions", asked_text(30));
  ASSERT_TRUE(client.read_until("\"steps\":[["));
  ASSERT_TRUE(client.read_until(R"("kind":"answer","tokens":1)"));
  EXPECT_THAT(client.read(), HasSubstr(R"("lanes":["host"])"));
  EXPECT_THAT(client.read(),
              HasSubstr("{\"name\":\"" + answer.at("id").get<std::string>() + "\",\"kind\":\"prompt\",\"tokens\":4"));
  EXPECT_THAT(client.read(), HasSubstr(R"("plan":"host-only")"));
}

TEST(Timeline, changes_no_text) {
  const Served served;
  const Json before = served.json("/v1/completions", asked_text(40));
  Client client(served.port());
  client.send(get("/tandem/timeline"));
  ASSERT_TRUE(client.read_until("event: server\n"));
  const Json during = served.json("/v1/completions", asked_text(40));
  EXPECT_EQ(before.at("choices"), during.at("choices"));
}

// The answer to a client that never reads does not hold up texts, and the server may end.
TEST(Timeline, never_waits_for_a_client) {
  Served served;
  Client client(served.port(), 2048);
  client.send(get("/tandem/timeline"));
  ASSERT_TRUE(client.read_until("event: server\n"));
  for (int i = 0; i < 3; ++i) served.json("/v1/completions", asked_text(200));
  served.api().finish(std::chrono::milliseconds(100));
  EXPECT_EQ(served.get("/tandem/timeline").status, 503);
}

TEST(Timeline, is_there_when_the_model_is) {
  Served served({.is_ready = false});
  EXPECT_EQ(served.get("/tandem/timeline").status, 503);
  served.become_ready();
  EXPECT_EQ(served.post("/tandem/timeline", "{}").status, 405);
}

}  // namespace
}  // namespace tandem::testing
