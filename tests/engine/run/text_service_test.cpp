// Texts for several threads.
#include "engine/run/text_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "sync/error.h"
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
  const auto engine = open(3), alone = open(0);
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
    alone->rewind(0);
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

TEST_F(Texts, end_as_interrupted_when_the_service_does) {
  const auto engine = open(2);
  std::future<Generation> endless, stopped;
  std::promise<void> began;
  {
    TextService service(*engine, 1);
    GenerateOptions options = so_many(100);
    options.on_text = [&, told = false](std::string_view) mutable {
      if (!std::exchange(told, true)) began.set_value();
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
