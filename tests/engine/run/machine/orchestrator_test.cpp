// The machine's own thread: works run there one after another, and the caller's thread stays as it was.
#include "engine/run/machine/orchestrator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "sync/affinity.h"
#include "tests/engine/run/host_engine.h"

namespace tandem::testing {
namespace {

TEST(Orchestrator, runs_work_on_one_thread_and_returns_what_it_gives) {
  Orchestrator orchestrator;
  const auto id = [&] { return orchestrator.run([] { return std::this_thread::get_id(); }); };
  const std::thread::id first = id();
  EXPECT_NE(first, std::this_thread::get_id());
  EXPECT_EQ(id(), first);
  EXPECT_EQ(orchestrator.run([&] { return id(); }), first) << "work on the thread may ask for more";
  int ran = 0;
  orchestrator.run([&ran] { ++ran; });
  EXPECT_EQ(ran, 1);
}

TEST(Orchestrator, throws_what_the_work_threw_and_goes_on) {
  Orchestrator orchestrator;
  EXPECT_THROW(orchestrator.run([]() -> int { throw std::runtime_error("mine"); }), std::runtime_error);
  EXPECT_THROW(orchestrator.run([] { throw 7; }), int);
  EXPECT_EQ(orchestrator.run([] { return 5; }), 5);
}

TEST(Orchestrator, lets_callers_take_turns) {
  Orchestrator orchestrator;
  int inside = 0, most = 0, sum = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      for (int i = 0; i < 200; ++i)
        orchestrator.run([&] {
          most = std::max(most, ++inside);
          ++sum;
          --inside;
        });
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(sum, 800);
}

// An interpreter's or a server's thread must be free to run anywhere after a model was opened.
TEST(Orchestrator, leaves_the_callers_thread_where_it_was) {
  const HostEngines engines("free");
  const std::vector<int> before = cores_of_this_thread();
  const auto engine = engines.open();
  EXPECT_EQ(cores_of_this_thread(), before);
  Sequence text = engine->cache().new_sequence();
  extend(*engine, text, some_ids(3));
  EXPECT_EQ(cores_of_this_thread(), before);
  if (!engine->machine().layout().may_spin) GTEST_SKIP() << "skipped: one core";
  EXPECT_EQ(engine->machine().orchestrator().run(cores_of_this_thread),
            std::vector{engine->machine().layout().orchestrator});
}

// Both engines use the devices of one machine.
TEST(Orchestrator, lets_two_threads_run_an_engine_each_on_one_machine) {
  const HostEngines engines("two_callers");
  const EngineOptions options = engines.options();
  const auto first = Engine::open(options);
  const auto second =
      std::make_unique<Engine>(std::make_shared<LoadedModel>(first->model().machine(), options), options);
  const auto write = [](Engine& engine) {
    std::vector<float> all;
    Sequence text = engine.cache().new_sequence();
    for (const int32_t id : some_ids(40)) {
      const Logits logits = extend(engine, text, std::span(&id, 1));
      all.insert(all.end(), logits.begin(), logits.end());
    }
    return all;
  };
  const std::vector<float> expected = write(*first);
  std::vector<float> of_first, of_second;
  std::thread one([&] { of_first = write(*first); }), other([&] { of_second = write(*second); });
  one.join();
  other.join();
  EXPECT_EQ(of_first, expected);
  EXPECT_EQ(of_second, expected);
}

// Engines come and go beside the passes of another one.
TEST(Orchestrator, lets_an_engine_end_while_another_one_runs) {
  const HostEngines engines("comes_and_goes");
  const EngineOptions options = engines.options();
  const auto engine = Engine::open(options);
  std::atomic<bool> ends = false;
  std::thread other([&] {
    while (!ends) Engine(std::make_shared<LoadedModel>(engine->model().machine(), options), options);
  });
  Sequence text = engine->cache().new_sequence();
  for (int i = 0; i < 100; ++i) {
    const int32_t id = 3 + i;
    extend(*engine, text, std::span(&id, 1));
  }
  ends = true;
  other.join();
  EXPECT_EQ(text.position(), 100);
}

}  // namespace
}  // namespace tandem::testing
