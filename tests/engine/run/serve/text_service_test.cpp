// Texts for several threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <thread>

#include "sync/error.h"
#include "tandem/generate.h"
#include "tests/engine/run/host_engine.h"

namespace tandem::testing {
namespace {

GenerateOptions so_many(int64_t tokens) {
  GenerateOptions options;
  options.predict = tokens;
  options.ignore_end = true;
  return options;
}

class Texts : public ::testing::Test {
 protected:
  std::unique_ptr<Engine> open(int64_t sequences) const {
    EngineOptions options = engines_.options();
    options.sequences = sequences;
    return Engine::open(options);
  }
  const HostEngines engines_{"service"};
};

TEST_F(Texts, of_many_threads_are_what_each_is_alone) {
  const auto engine = open(3), alone = open(1);
  std::vector<Generation> found(12);
  {
    TextService service(*engine, 3);
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 4; ++caller)
      callers.emplace_back([&, caller] {
        for (int i = caller; i < 12; i += 4) found[i] = service.write(some_ids(3 + 5 * i), so_many(6)).get();
      });
    for (std::thread& caller : callers) caller.join();
  }
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(found[i].ids, generate(*alone, some_ids(3 + 5 * i), so_many(6)).ids) << i;
  }
}

TEST_F(Texts, that_cannot_be_written_are_errors_of_those_who_asked) {
  const auto engine = open(2);
  TextService service(*engine, 2);
  auto wrong = service.write({3, 999}, so_many(4)), right = service.write(some_ids(5), so_many(4));
  EXPECT_THROW(wrong.get(), Error);
  EXPECT_EQ(right.get().ids.size(), 4u);
}

// The caller's functions throw, or memory is missing. The error belongs to that one text, for any type of exception.
TEST_F(Texts, whose_own_functions_throw_end_with_that_and_leave_the_others_alone) {
  const auto engine = open(4), alone = open(1);
  struct Mine {};
  const auto throwing = [](auto what) { return [what](std::string_view) { throw what; }; };
  std::vector<GenerateOptions> options(5, so_many(8));
  options[0].on_text = throwing(Mine{});
  options[1].on_text = throwing(std::bad_alloc());
  options[2].interrupted = []() -> bool { throw Mine{}; };
  options[3].on_text = [called = 0](std::string_view) mutable {
    if (++called == 4) throw std::runtime_error("enough");
  };
  TextService service(*engine, 4);
  std::vector<std::future<Generation>> found;
  for (int i = 0; i < 5; ++i) found.push_back(service.write(some_ids(4 + i), options[static_cast<size_t>(i)]));
  EXPECT_THROW(found[0].get(), Mine);
  EXPECT_THROW(found[1].get(), std::bad_alloc);
  EXPECT_THROW(found[2].get(), Mine);
  EXPECT_THROW(found[3].get(), std::runtime_error);
  EXPECT_EQ(found[4].get().ids, generate(*alone, some_ids(8), so_many(8)).ids);
  EXPECT_EQ(service.write(some_ids(9), so_many(8)).get().ids, generate(*alone, some_ids(9), so_many(8)).ids)
      << "the service goes on";
}

// The end of a text passes on the characters that were held back for a stop string.
TEST_F(Texts, whose_last_piece_cannot_be_handed_over_end_with_that) {
  const auto engine = open(2), alone = open(1);
  const std::string text = generate(*alone, some_ids(6), so_many(3)).text;
  ASSERT_FALSE(text.empty());
  GenerateOptions options = so_many(3);
  options.stop = {text + "!"};
  options.on_text = [](std::string_view) { throw std::runtime_error("no room"); };
  TextService service(*engine, 2);
  EXPECT_THROW(service.write(some_ids(6), options).get(), std::runtime_error);
  EXPECT_EQ(service.write(some_ids(6), so_many(3)).get().text, text);
}

TEST_F(Texts, go_on_where_a_batchers_caller_throws_at_the_end_of_one) {
  const auto engine = open(3), alone = open(1);
  Batcher batcher(*engine, 3);
  std::vector<Generation> found(3);
  for (int i = 0; i < 3; ++i)
    batcher.add(some_ids(4 + i), so_many(5), [&found, i](Batcher::Result result) {
      if (i == 1) throw std::runtime_error("mine");
      found[static_cast<size_t>(i)] = std::move(result.generation);
    });
  int thrown = 0;
  for (bool more = true; more;) {
    try {
      more = batcher.step();
    } catch (const std::runtime_error&) {
      ++thrown;
    }
  }
  EXPECT_EQ(thrown, 1);
  for (const int i : {0, 2}) {
    EXPECT_EQ(found[static_cast<size_t>(i)].ids, generate(*alone, some_ids(4 + i), so_many(5)).ids) << i;
  }
}

TEST_F(Texts, end_as_interrupted_when_the_service_does) {
  const auto engine = open(2);
  std::future<Generation> endless, stopped;
  std::promise<void> began;
  {
    TextService service(*engine, 1);
    GenerateOptions options = so_many(100);
    options.on_text = [&, called = false](std::string_view) mutable {
      if (!std::exchange(called, true)) began.set_value();
    };
    endless = service.write(some_ids(5), options);
    GenerateOptions unwanted = so_many(100);
    unwanted.interrupted = [] { return true; };
    stopped = service.write(some_ids(6), unwanted);
    began.get_future().wait();
  }
  const Generation cut = endless.get();
  EXPECT_TRUE(cut.reason == StopReason::interrupted || cut.ids.size() == 100u) << "unless it came to its end before";
  EXPECT_EQ(stopped.get().reason, StopReason::interrupted);
}

}  // namespace
}  // namespace tandem::testing
