// Memory ordering between every two processors that can be opened here, in both directions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <initializer_list>
#include <iostream>
#include <map>

#include "engine/device/lab/lab.h"
#include "engine/device/registry.h"
#include "engine/lab/litmus_runs.h"
#include "sync/error.h"
#include "tests/engine/device/open_once.h"
#include "tests/support/program_folder.h"
#include "tests/support/requirements.h"

namespace tandem {
namespace {

using testing::HasSubstr;

#if defined(__SANITIZE_THREAD__)
constexpr bool kThreadSanitizer = true;  // the compiled kernels of drivers are not instrumented
#else
constexpr bool kThreadSanitizer = false;
#endif

// The number of instances at which both sides must be there. TANDEM_LITMUS_ITERATIONS sets more.
uint64_t iterations() {
  const char* wanted = std::getenv("TANDEM_LITMUS_ITERATIONS");
  return wanted ? std::strtoull(wanted, nullptr, 10) : 1000;
}
LitmusLimits limits() {
  return {100000, std::chrono::milliseconds(std::getenv("TANDEM_LITMUS_ITERATIONS") ? 120000 : 1500)};
}

// Devices stay open, because opening one takes longer than a test. A device can take part twice ("npu:0", "npu:0
// again") if opening it again creates another queue.
struct Side {
  std::string name;    // a part of the names of tests
  std::string prefix;  // the factory's prefix; empty for a thread of the host
  bool again = false;
};

Device* device_of(const Side& side) {
  auto& open = test::kSharedByTests<std::unique_ptr<Device>>->all;
  for (const DeviceFactory& factory : device_factories()) {
    if (factory.prefix != side.prefix || factory.count().all == 0) continue;
    std::unique_ptr<Device>& device = open[side.name];
    DeviceOptions options;
    options.program_folder = test::program_folder();
    options.gpu_cores = {0};  // PoCL's worker runs there; other sides use another core
    if (side.prefix != "opencl") options.gpu_cores.clear();
    if (!device) device = factory.open(0, options);
    return device.get();
  }
  return nullptr;
}

// Returns nullptr, and says why in `reason`, if this side cannot take part.
std::unique_ptr<LitmusAgent> agent_of(const Side& side, std::string& reason) {
  if (side.prefix.empty()) return make_thread_litmus_agent(side.name, {});
  if (kThreadSanitizer && (side.prefix == "opencl" || side.prefix == "vulkan")) {
    reason = "the thread sanitizer does not see into " + side.prefix + " kernels";
    return nullptr;
  }
  Device* device = device_of(side);
  if (!device) {
    reason = "no " + side.prefix + " device";
  } else if (side.prefix == "opencl" && side.again && device->info().compute_units < 2) {
    reason = "one worker runs one kernel at a time";
  } else if (!device->info().zero_copy) {
    reason = device->info().zero_copy_note;
  } else {
    return lab_of(*device).litmus_agent();
  }
  return nullptr;
}

// A thread of the host stands for the host device, which is such a thread.
std::vector<Side> sides() {
  std::vector<Side> all = {{"host_thread", ""}};
  for (const DeviceFactory& factory : device_factories()) {
    if (factory.kind != DeviceKind::host) all.push_back({factory.prefix, factory.prefix});
  }
  return all;
}

struct Pair {
  Side left, right;
};
void PrintTo(const Pair& pair, std::ostream* out) { *out << pair.left.name << " and " << pair.right.name; }

std::vector<Pair> pairs() {
  std::vector<Pair> all;
  for (const Side& left : sides()) {
    for (Side right : sides()) {
      if (left.name == right.name) right.name += "_again", right.again = true;
      all.push_back({left, right});
    }
  }
  return all;
}

class Litmus : public testing::TestWithParam<Pair> {
 protected:
  void SetUp() override {
    std::string reason;
    left_ = agent_of(GetParam().left, reason);
    if (left_) right_ = agent_of(GetParam().right, reason);
    if (left_ && right_) return;
    if (reason == "no vulkan device") SKIP_FOR_WANT_OF(vulkan, reason);
    if (reason == "no opencl device") SKIP_FOR_WANT_OF(opencl, reason);
    GTEST_SKIP() << "skipped: " << reason;
  }
  LitmusCounts run(LitmusTest test) {
    const LitmusCounts counts = run_litmus(*left_, *right_, test, iterations(), limits());
    std::cout << name_of(test) << ", " << left_->name() << " -> " << right_->name() << ": " << to_string(counts)
              << "\n";
    uint64_t sum = 0;
    for (const LitmusOutcome& outcome : counts.outcomes) sum += outcome.count;
    EXPECT_EQ(sum, counts.instances);
    EXPECT_GT(counts.instances, 0u);
    EXPECT_EQ(counts.instances, counts.launches * kLitmusInstances);
    return counts;
  }

  std::unique_ptr<LitmusAgent> left_, right_;
};

TEST_P(Litmus, a_flag_is_never_seen_before_its_data) { EXPECT_EQ(run(LitmusTest::message_passing).forbidden, 0u); }

TEST_P(Litmus, a_flag_is_never_seen_before_any_of_up_to_64_lines) {
  EXPECT_EQ(run(LitmusTest::many_lines).forbidden, 0u);
}

TEST_P(Litmus, stores_wait_in_buffers_and_that_is_allowed) {
  EXPECT_EQ(run(LitmusTest::store_buffering).forbidden, 0u);
}

TEST_P(Litmus, writers_of_one_line_lose_no_update) { EXPECT_EQ(run(LitmusTest::false_sharing).forbidden, 0u); }

INSTANTIATE_TEST_SUITE_P(Pairs, Litmus, testing::ValuesIn(pairs()),
                         [](const auto& info) { return info.param.left.name + "_and_" + info.param.right.name; });

// The harness must see the faults that it looks for. Two sides that share a core do not race. So the test fails only
// after a thousand instances with both sides there.
class BrokenLitmus : public Litmus {
 protected:
  // One of the tests must show the fault. A side that is much slower than the other rarely runs between two plain
  // stores of the other.
  void expect_seen(std::initializer_list<LitmusTest> tests) {
    uint64_t together = 0;
    for (int attempt = 0; attempt < 10; ++attempt) {
      for (const LitmusTest test : tests) {
        const LitmusCounts counts = run(test);
        if (counts.forbidden > 0) return;
        together += counts.together;
      }
    }
    if (together < 1000) GTEST_SKIP() << "skipped: the sides did not run at once here";
    ADD_FAILURE() << name_of(*tests.begin()) << " was not seen";
  }
};

TEST_P(BrokenLitmus, is_seen_when_the_flag_goes_before_its_data) {
  expect_seen({LitmusTest::broken_message_passing, LitmusTest::broken_many_lines});
}

TEST_P(BrokenLitmus, is_seen_when_both_sides_add_to_one_word) { expect_seen({LitmusTest::broken_false_sharing}); }

INSTANTIATE_TEST_SUITE_P(Pairs, BrokenLitmus, testing::ValuesIn(pairs()),
                         [](const auto& info) { return info.param.left.name + "_and_" + info.param.right.name; });

// A side that does alone what a test prescribes.
class ScriptedAgent final : public LitmusAgent {
 public:
  explicit ScriptedAgent(std::string name) : name_(std::move(name)) {}
  const std::string& name() const override { return name_; }
  uint32_t looks() const override { return 1; }
  void start(const LitmusWalk& walk) override {
    if (start_fails) throw Error("cannot start", name_);
    ++started;
    EXPECT_EQ(walk.side, name_ == "left" ? 0u : 1u);
    rounds.push_back(walk.round);
  }
  void finish(std::chrono::milliseconds) override {
    ++finished;
    if (finish_fails) throw Error("did not end", name_);
  }
  void release_memory() override { ++released; }

  bool start_fails = false, finish_fails = false;
  int started = 0, finished = 0, released = 0;
  std::vector<uint32_t> rounds;

 private:
  std::string name_;
};

TEST(LitmusHarness, gives_up_at_its_limit_when_nothing_ran_together_and_says_so) {
  ScriptedAgent left("left"), right("right");
  const LitmusCounts counts =
      run_litmus(left, right, LitmusTest::message_passing, 1000, {5, std::chrono::milliseconds(60000)});
  EXPECT_EQ(counts.launches, 5u);
  EXPECT_EQ(counts.instances, 5u * kLitmusInstances);
  EXPECT_EQ(counts.together, 0u);
  EXPECT_EQ(counts.forbidden, 0u);
  EXPECT_EQ(left.rounds, (std::vector<uint32_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(left.released, 1);
  EXPECT_EQ(right.released, 1);
  EXPECT_THAT(to_string(counts), HasSubstr("640 instances in 5 launches, 0 together: neither seen 640"));
}

TEST(LitmusHarness, counts_every_update_that_nobody_made_as_lost) {
  ScriptedAgent left("left"), right("right");
  const LitmusCounts counts =
      run_litmus(left, right, LitmusTest::false_sharing, 1, {2, std::chrono::milliseconds(60000)});
  EXPECT_EQ(counts.forbidden, 2u * kLitmusInstances);
}

TEST(LitmusHarness, passes_a_sides_failure_on_and_leaves_the_other_one_ended) {
  ScriptedAgent left("left"), right("right");
  right.start_fails = true;
  EXPECT_THROW(run_litmus(left, right, LitmusTest::store_buffering, 1), Error);
  EXPECT_EQ(left.finished, 1);
  right.start_fails = false;
  right.finish_fails = true;
  EXPECT_THROW(run_litmus(left, right, LitmusTest::store_buffering, 1), Error);
  right.finish_fails = false;
  EXPECT_NO_THROW(run_litmus(left, right, LitmusTest::store_buffering, 1, {1, std::chrono::milliseconds(60000)}));
  EXPECT_THROW(run_litmus(left, left, LitmusTest::store_buffering, 1), Error) << "one agent cannot be both sides";
}

}  // namespace
}  // namespace tandem
