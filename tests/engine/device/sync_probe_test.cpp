// Every waiting policy of every device that can be opened here.
#include "engine/device/lab/sync_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <map>
#include <ostream>

#include "engine/device/lab/lab.h"
#include "engine/device/lab/stepped_probe.h"
#include "engine/device/registry.h"
#include "sync/error.h"
#include "tests/engine/device/every_device.h"
#include "tests/engine/device/open_once.h"
#include "tests/support/program_folder.h"
#include "tests/support/requirements.h"

namespace tandem {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr milliseconds kLong{120000};  // only against hangs: on a busy machine each hand-over may wait for a core

struct Case {
  std::string prefix;
  sync::Policy policy = sync::Policy::blocking;
};

void PrintTo(const Case& c, std::ostream* out) { *out << name_of(c.policy) << " on " << c.prefix; }

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const DeviceFactory& factory : device_factories())
    for (const sync::Policy policy : sync::kPolicies) all.push_back({factory.prefix, policy});
  return all;
}

// Devices are opened once, because the tests check that they stay usable.
Device* device_of(const std::string& prefix) {
  auto& open = test::kSharedByTests<std::unique_ptr<Device>>->all;
  for (const DeviceFactory& factory : device_factories()) {
    if (factory.prefix != prefix || factory.count().all == 0) continue;
    std::unique_ptr<Device>& device = open[prefix];
    DeviceOptions options;
    options.program_folder = test::program_folder();
    options.gpu_cores = {0};
    if (!device) device = factory.open(0, options);
    return device.get();
  }
  return nullptr;
}

// The first steps of this device take 200 us longer, as if its worker had to wake up. These are two steps that show
// that it works, five for the hand-over alone, and five of the first round with work.
class SlowAtFirst final : public SteppedProbe {
 public:
  SlowAtFirst() : SteppedProbe("slow", sync::Policy::spin, false) {}
  uint64_t links() const { return work().iterations; }

 private:
  void begin(uint32_t step) override {
    const auto ready = std::chrono::steady_clock::now() + std::chrono::microseconds(step <= 12 ? 300 : 100);
    while (std::chrono::steady_clock::now() < ready) {
    }
    run_probe_step(done(), step, work());
  }
  void abandon() noexcept override {}
};

double seconds_per_link() {
  constexpr uint64_t kLinks = 1 << 20;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 5; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    volatile const uint32_t end = probe_chain(kProbeSeed, kLinks);
    (void)end;
    least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return least / kLinks;
}

TEST(SteppedProbe, takes_no_change_of_the_hand_over_for_work) {
  SlowAtFirst probe;
  probe.prepare(10e-6);
  const double wanted = 10e-6 / seconds_per_link();
  EXPECT_GT(static_cast<double>(probe.links()), wanted / 10);
  EXPECT_LT(static_cast<double>(probe.links()), wanted * 10) << "the step would take another length";
}

class SyncProbes : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const auto& [prefix, policy] = GetParam();
    device_ = device_of(prefix);
    if (!device_) SKIP_OR_FAIL(test::needs_of(prefix), std::string("no ") + prefix + " device");
    if (!device_->info().zero_copy) GTEST_SKIP() << "skipped: " << device_->info().zero_copy_note;
    for (const PolicyTest& test : device_->info().policies) {
      if (test.policy != policy) continue;
      EXPECT_FALSE(test.reason.empty());
      if (!test.passed) GTEST_SKIP() << "skipped: switched off: " << test.reason;
    }
  }
  std::unique_ptr<SyncProbe> probe(double work_seconds) {
    return lab_of(*device_).sync_probe(GetParam().policy, work_seconds);
  }

  Device* device_ = nullptr;
};

TEST_P(SyncProbes, complete_steps_with_the_right_values) {
  for (double work_seconds : {0.0, 200e-6}) {
    const auto steps = probe(work_seconds);
    for (int i = 0; i < 50; ++i) {
      if (i % 3 != 0) steps->arm();  // also without arm(): start() makes up for it
      steps->start();
      const sync::WaitReport report = steps->wait(work_seconds, kLong);
      EXPECT_GE(report.seconds, 0.0);
      EXPECT_LE(report.spun_seconds, report.seconds);
    }
  }
}

TEST_P(SyncProbes, chain_steps_and_lose_none) {
  const auto steps = probe(1e-6);
  for (int count : {1, 7, 100}) EXPECT_NO_THROW(steps->chain(count, kLong));
  steps->arm();
  EXPECT_NO_THROW(steps->chain(3, kLong)) << "a step that was armed is the chain's first";
  steps->start();
  steps->wait(0, kLong);
}

TEST_P(SyncProbes, name_device_policy_and_step_when_one_never_started_and_go_on) {
  const auto steps = probe(0);
  for (const bool armed : {false, true}) {
    if (armed) steps->arm();
    try {
      steps->wait(0, milliseconds(30));
      FAIL() << "a step that nobody started has ended";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(device_->info().id));
      EXPECT_THAT(error.what(), HasSubstr("policy '" + name_of(GetParam().policy) + "'"));
      EXPECT_THAT(error.what(), HasSubstr("step "));
    }
    for (int i = 0; i < 3; ++i) {
      steps->arm();
      steps->start();
      steps->wait(0, kLong);
    }
  }
}

TEST_P(SyncProbes, leave_the_device_usable_and_can_be_made_again) {
  probe(0)->arm();  // destroyed while a step is queued ahead
  const auto again = probe(0);
  again->start();
  again->wait(0, kLong);
  EXPECT_NO_THROW(device_->finish(kLong));
}

TEST_P(SyncProbes, time_steps_between_start_and_end_where_clocks_compare) {
  const auto now = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  const auto steps = probe(50e-6);
  EXPECT_FALSE(steps->last_step()) << "nothing was timed yet";
  steps->time_steps(true);
  for (int i = 0; i < 20; ++i) {
    steps->arm();
    const double before = now();
    steps->start();
    steps->wait(0, kLong);
    const double after = now();
    const auto times = steps->last_step();
    if (!times) GTEST_SKIP() << "skipped: no clock of " << device_->info().id << " compares with the host's";
    constexpr double kTieError = 1e-6;
    EXPECT_GE(times->begin_seconds, before - kTieError);
    EXPECT_LT(times->begin_seconds, times->end_seconds);
    EXPECT_LE(times->end_seconds, after + kTieError);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, SyncProbes, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.prefix + "_" + name_of(info.param.policy); });

TEST(SyncProbesSuite, runs_on_every_kind_of_device_there_is) {
  std::vector<std::string> kinds;
  for (const Case& one : cases()) kinds.push_back(one.prefix);
  test::expect_every_device(kinds);
}

TEST(SyncProbe, refuses_a_policy_that_was_not_tried_and_says_what_passed) {
  DeviceInfo info;
  info.id = "opencl:7";
  info.policies = {{sync::Policy::spin, true, ""}};
  try {
    require_policy(info, sync::Policy::doorbell);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("doorbell on opencl:7"));
    EXPECT_THAT(error.what(), HasSubstr("spin"));
  }
}

TEST(SyncProbe, says_why_a_policy_is_switched_off) {
  DeviceInfo info;
  info.id = "opencl:7";
  info.policies = {{sync::Policy::spin, true, ""}, {sync::Policy::gate, false, "the host's stores are not seen"}};
  EXPECT_NO_THROW(require_policy(info, sync::Policy::spin));
  try {
    require_policy(info, sync::Policy::gate);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("gate on opencl:7"));
    EXPECT_THAT(error.what(), HasSubstr("the host's stores are not seen"));
  }
}

// A device that fails as a test prescribes.
class FaultyProbe : public SteppedProbe {
 public:
  enum class Fault { none, lost, repeated, wrong_epoch, wrong_value, failed };

  FaultyProbe() : SteppedProbe("faulty:0", sync::Policy::spin, false) {}
  Fault fault = Fault::none;
  int abandoned = 0;

 protected:
  void begin(uint32_t step) override {
    switch (fault) {
      case Fault::none:
        return run_probe_step(done(), step, work());
      case Fault::lost:
        return;
      case Fault::repeated:
        run_probe_step(done(), step, work());
        return run_probe_step(done(), step, work());
      case Fault::wrong_epoch:
        return run_probe_step(done(), step + 3, work());
      case Fault::wrong_value:
        return run_probe_step(done(), step, {work().iterations + 1, false});
      case Fault::failed:
        return done().fail("the processor is on fire");
    }
  }
  void abandon() noexcept override { ++abandoned; }
};

class ProbeFaults : public testing::TestWithParam<std::pair<FaultyProbe::Fault, const char*>> {};

TEST_P(ProbeFaults, end_in_an_error_that_names_them_and_the_next_step_works) {
  FaultyProbe probe;
  probe.prepare(0);
  for (int round = 1; round <= 2; ++round) {
    probe.fault = GetParam().first;
    try {
      probe.start();
      probe.wait(0, milliseconds(30));
      FAIL() << "nobody noticed";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("faulty:0, policy 'spin', step "));
      EXPECT_THAT(error.what(), HasSubstr(GetParam().second));
    }
    EXPECT_EQ(probe.abandoned, round);
    probe.fault = FaultyProbe::Fault::none;
    probe.start();
    EXPECT_NO_THROW(probe.wait(0, kLong));
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, ProbeFaults,
                         testing::Values(std::pair{FaultyProbe::Fault::lost, "deadline"},
                                         std::pair{FaultyProbe::Fault::repeated, "raised twice"},
                                         std::pair{FaultyProbe::Fault::wrong_epoch, "wrong epoch"},
                                         std::pair{FaultyProbe::Fault::wrong_value, "wrong value"},
                                         std::pair{FaultyProbe::Fault::failed, "on fire"}));

TEST(ProbeChain, has_the_value_of_its_definition) {
  EXPECT_EQ(probe_chain(1, 0), 1u);
  // 1 * 747796405 + 2891336453 = 3639132858. Its upper bits (>> 15) are 111057. The link is the exclusive or of both.
  EXPECT_EQ(probe_chain(1, 1), 3639132858u ^ 111057u);
  EXPECT_EQ(probe_chain(probe_chain(5, 3), 4), probe_chain(5, 7)) << "links are independent of where they began";
}

}  // namespace
}  // namespace tandem
