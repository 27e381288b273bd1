// Many clients at once, some of which misbehave: nothing is lost, and each text is the text that it is alone.
//
// TANDEM_LOAD_SECONDS makes it longer. `./dev bench serve --load` asks the program itself, with a real model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>

#include "tests/engine/serve/served.h"

namespace tandem::testing {
namespace {

using ::testing::HasSubstr;
using SteadyTime = std::chrono::steady_clock;

constexpr int kTexts = 8, kClients = 24;

SteadyTime::time_point end_of_load() {
  const char* seconds = std::getenv("TANDEM_LOAD_SECONDS");
  return SteadyTime::now() + std::chrono::seconds(seconds ? std::max(1, std::atoi(seconds)) : 2);
}

std::vector<int32_t> prompt_of(int number) {
  std::vector<int32_t> prompt = some_ids(5 + 9 * number);
  prompt[0] = 10 + number;  // no two of them begin alike
  return prompt;
}

int64_t tokens_of(int number) { return 4 + 3 * number; }

std::string asked_text(int number, bool is_stream) {
  return serve::Json{{"prompt", prompt_of(number)},
                     {"max_tokens", tokens_of(number)},
                     {"temperature", 0},
                     {"ignore_eos", true},
                     {"stream", is_stream}}
      .dump();
}

// "": there was no whole answer.
std::string text_in(const Answered& answer, bool is_stream) {
  if (answer.status != 200) return "";
  if (!is_stream) return serve::Json::parse(answer.body).at("choices").at(0).at("text");
  if (!answer.body.ends_with("data: [DONE]\n\n")) return "";
  std::string text;
  for (const serve::Json& event : events_of(answer.body))
    if (event.contains("choices")) text += event.at("choices").at(0).at("text").get<std::string>();
  return text;
}

class Load : public ::testing::Test {
 protected:
  // Each client asks for one text after another. answered: gets each answer with the text's number.
  template <typename Take>
  void ask_with(int clients, const std::function<bool(int asked)>& goes_on, const Take& answered) {
    std::vector<std::thread> threads;
    for (int client = 0; client < clients; ++client)
      threads.emplace_back([&, client] {
        for (int asked = 0; goes_on(asked); ++asked) {
          const int number = (client + 3 * asked) % kTexts;
          const bool is_stream = asked % 2 == 0;
          const Answered answer = served_->post("/v1/completions", asked_text(number, is_stream));
          const std::lock_guard lock(mutex_);
          answered(number, answer, text_in(answer, is_stream));
        }
      });
    for (std::thread& each : threads) each.join();
  }
  void begin(const ServedSettings& settings) {
    served_.emplace(settings);
    const auto engine = served_->open_alone();
    for (int number = 0; number < kTexts; ++number)
      alone_.push_back(generate(*engine, prompt_of(number), so_many(tokens_of(number))).text);
  }
  std::optional<Served> served_;
  std::vector<std::string> alone_;
  std::mutex mutex_;
};

// Clients that rest, that stop half-way, that never read, and that leave without a word.
class Nuisance {
 public:
  explicit Nuisance(uint16_t port) : port_(port) {
    for (int i = 0; i < 100; ++i) clients_.emplace_back(port);
    for (int i = 0; i < 64; ++i) {
      clients_.emplace_back(port);
      clients_.back().send("POST /v1/completions HTTP/1.1\r\nHost: local");
    }
    clients_.emplace_back(port, 4096);
    clients_.back().send(
        post("/v1/completions", R"({"prompt":[9,8],"max_tokens":3000,"stream":true,"ignore_eos":true})"));
    thread_ = std::thread([this] {
      while (!ends_) leave_one();
    });
  }
  ~Nuisance() {
    ends_ = true;
    thread_.join();
  }
  Nuisance(const Nuisance&) = delete;
  Nuisance& operator=(const Nuisance&) = delete;

 private:
  void leave_one() const {
    Client client(port_);
    client.send(post("/v1/completions", R"({"prompt":[7,6,5],"max_tokens":500,"stream":true,"ignore_eos":true})"));
    client.read_some();
    client.leave();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  const uint16_t port_;
  std::vector<Client> clients_;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

TEST_F(Load, of_many_clients_loses_nothing_and_changes_no_text) {
  begin({.width = 4});
  const Nuisance nuisance(served_->port());
  const SteadyTime::time_point end = end_of_load();
  int right = 0, health = 0;
  std::atomic<bool> ended = false;
  std::thread looks([&] {
    while (!ended) {
      health += served_->get("/health").status == 200 ? 0 : 1;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  });
  ask_with(
      kClients, [&](int asked) { return asked < 1 || SteadyTime::now() < end; },
      [&](int number, const Answered& answer, const std::string& text) {
        EXPECT_EQ(text, alone_[static_cast<size_t>(number)]) << answer.status << answer.body.substr(0, 300);
        ++right;
      });
  ended = true;
  looks.join();
  EXPECT_GE(right, kClients);
  EXPECT_EQ(health, 0) << "answers of /health that were not 200";
  std::cout << right << " texts\n";
}

// A pass of this model has 15 products. The texts of the pass that fails end with the error, and all others are whole.
TEST_F(Load, goes_on_where_a_device_fails) {
  constexpr int64_t kWidth = 4;
  constexpr int kAsking = 8;
  begin({.width = kWidth, .device = "slow:0?fails_at=200"});
  int failed = 0, right = 0;
  ask_with(
      kAsking, [](int asked) { return asked < 2; },
      [&](int number, const Answered& answer, const std::string& text) {
        if (text == alone_[static_cast<size_t>(number)]) {
          ++right;
          return;
        }
        ++failed;
        EXPECT_TRUE(answer.status == 503 || answer.status == 200) << "200: a stream that had begun";
        EXPECT_THAT(answer.body, HasSubstr("the toy broke"));
        EXPECT_THAT(answer.body, HasSubstr("slow:0"));
      });
  EXPECT_GE(failed, 1);
  EXPECT_LE(failed, kWidth);
  EXPECT_EQ(right + failed, kAsking * 2);
  EXPECT_EQ(served_->get("/health").status, 200);
}

}  // namespace
}  // namespace tandem::testing
