// The laboratory on the devices of this machine: rows, verified steps, refusals and interruptions. The tests judge
// no time.
#include "engine/lab/sync_lab.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "engine/device/lab/lab.h"
#include "engine/device/lab/litmus_layout.h"
#include "engine/lab/litmus_runs.h"
#include "engine/lab/measure_policy.h"
#include "sync/affinity.h"
#include "sync/error.h"
#include "sync/ping_pong.h"
#include "sync/waiter.h"
#include "tests/support/requirements.h"

namespace tandem::sync_lab {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

LabOptions options_for(const std::string& device) {
  LabOptions options;
  options.devices = {device};
  options.work_seconds = {0, 50e-6};
  options.quick = true;
  options.rounds = 6;
  options.layout = lay_out_cores(usable_cores());
  options.device_options.gpu_cores = options.layout.gpu;
  options.device_options.npu_cores = options.layout.npu;
  return options;
}

class SyncLabOn : public ::testing::TestWithParam<const char*> {};

TEST_P(SyncLabOn, measures_verified_steps_with_every_policy_or_says_why_not) {
  const std::string id = GetParam();
  if (!std::ranges::count(available_devices(), id)) SKIP_OR_FAIL(test::needs_of(id), "there is no " + id);
  const LabOptions options = options_for(id);
  configure_drivers(options.device_options);
  const LabResult result = run_sync_lab(options);
  ASSERT_EQ(result.devices.size(), 1u);
  const DeviceResult& device = result.devices[0];
  ASSERT_THAT(device.problem, IsEmpty());
  const bool all = std::ranges::none_of(device.rows, [](const SyncRow& row) { return row.status == RowStatus::off; });
  // There are rows for two lengths, and rows for one length among spinning threads. If a policy is off, each of the two
  // lengths also has a launch.
  ASSERT_EQ(device.rows.size(), 3 * sync::waiter_names().size() + (all ? 0 : 2));
  std::set<sync::Policy> measured;
  for (const SyncRow& row : device.rows) {
    SCOPED_TRACE(name_of(row) + " " + row.reason);
    ASSERT_NE(row.status, RowStatus::failed);
    if (row.status == RowStatus::off) {
      EXPECT_THAT(row.reason, Not(IsEmpty()));
      continue;
    }
    measured.insert(row.policy);
    EXPECT_EQ(row.lost_steps, 0);
    EXPECT_GT(row.round_trip.count, 0);
    EXPECT_GT(row.verified_steps, row.round_trip.count);
    EXPECT_LE(row.round_trip.min, row.round_trip.p50);
    EXPECT_LE(row.round_trip.p50, row.round_trip.p90);
    EXPECT_LE(row.round_trip.p99, row.round_trip.max);
    EXPECT_GT(row.single_per_second, 0);
    EXPECT_GT(row.chained_per_second, 0);
    EXPECT_EQ(row.to_device.has_value(), row.to_host.has_value());
    EXPECT_EQ(row.prediction_error.has_value(), row.policy == sync::Policy::predict);
    EXPECT_EQ(row.spinners > 0, !row.neighbour_slowdown.has_value());
  }
  EXPECT_TRUE(measured.contains(sync::Policy::blocking));
  EXPECT_TRUE(measured.contains(sync::Policy::predict) || usable_cores().size() == 1);
  // The line beside this device goes from the waiting core to a core of the device. Otherwise there is a reason.
  EXPECT_NE(device.limit.has_value(), !device.no_limit.empty());
  if (device.limit) {
    ASSERT_EQ(device.limit->cores.size(), 2u);
    EXPECT_EQ(device.limit->cores[0], device.waiter_core);
    EXPECT_TRUE(std::ranges::count(device.cores, device.limit->cores[1]));
    EXPECT_GT(device.limit->before_seconds, 0);
    EXPECT_GT(device.limit->after_seconds, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, SyncLabOn, ::testing::Values("host", "npu:0", "opencl:0", "vulkan:0"),
                         [](const auto& info) {
                           return std::string(info.param).substr(0, std::string(info.param).find(':'));
                         });

class SyncLabOfCopies : public ::testing::TestWithParam<const char*> {};

// The kernels of such a device raise no flag that the host sees. So no policy can be measured by itself, but a
// launch can.
TEST_P(SyncLabOfCopies, measures_launch_and_finish_and_names_them_where_memory_is_not_shared) {
  const std::string id = GetParam();
  if (!std::ranges::count(available_devices(), id)) SKIP_OR_FAIL(test::needs_of(id), "there is no " + id);
  LabOptions options = options_for(id + "?copies=1");
  configure_drivers(options.device_options);
  const LabResult result = run_sync_lab(options);
  const DeviceResult& device = result.devices.at(0);
  ASSERT_THAT(device.problem, IsEmpty());
  EXPECT_TRUE(device.has_figure());
  EXPECT_FALSE(result.lost_steps());
  std::vector<double> launched;
  for (const SyncRow& row : device.rows) {
    SCOPED_TRACE(name_of(row) + " " + row.reason);
    if (!row.launched) {
      EXPECT_EQ(row.status, RowStatus::off);
      EXPECT_THAT(row.reason, Not(IsEmpty()));
      continue;
    }
    EXPECT_EQ(name_of(row), "launch+finish");
    ASSERT_EQ(row.status, RowStatus::measured);
    EXPECT_GT(row.round_trip.min, 0);
    EXPECT_GT(row.verified_steps, 6);
    EXPECT_GT(row.chained_per_second, 0);
    launched.push_back(row.work_seconds);
  }
  EXPECT_EQ(launched, options.work_seconds);
  EXPECT_EQ(result.find(device.id, sync::Policy::blocking, 0), nullptr);  // a launch is no policy
}

INSTANTIATE_TEST_SUITE_P(Devices, SyncLabOfCopies, ::testing::Values("opencl:0", "vulkan:0"), [](const auto& info) {
  return std::string(info.param).substr(0, std::string(info.param).find(':'));
});

class DependentReads : public ::testing::TestWithParam<const char*> {};

TEST_P(DependentReads, find_what_the_host_has_written) {
  const std::string id = GetParam();
  std::unique_ptr<Device> device;
  std::unique_ptr<LitmusAgent> agent;
  if (id == "thread") {
    agent = make_thread_litmus_agent(id, {});
  } else {
    if (!std::ranges::count(available_devices(), id)) SKIP_OR_FAIL(test::needs_of(id), "there is no " + id);
    device = open_device(id, options_for(id).device_options);
    if (!device->info().zero_copy) GTEST_SKIP() << "skipped: " << device->info().zero_copy_note;
    agent = lab_of(*device).litmus_agent();
  }
  constexpr int kRounds = 10;
  std::vector<double> seconds = dependent_read_seconds(*agent, kRounds, std::chrono::seconds(60));
  ASSERT_EQ(seconds.size(), static_cast<size_t>(kRounds));
  std::ranges::sort(seconds);
  EXPECT_GE(seconds.front(), 0);
  EXPECT_GT(seconds.back(), 0);
}

INSTANTIATE_TEST_SUITE_P(Sides, DependentReads, ::testing::Values("thread", "opencl:0", "vulkan:0"),
                         [](const auto& info) {
                           return std::string(info.param).substr(0, std::string(info.param).find(':'));
                         });

// A side on the calling thread that records its launches.
struct Reader : LitmusAgent {
  const std::string called = "reader";
  std::vector<LitmusWalk> walks;
  const std::string& name() const override { return called; }
  uint32_t looks() const override { return 1; }
  void start(const LitmusWalk& walk) override {
    walks.push_back(walk);
    litmus::walk_on_thread(walk);
  }
  void finish(std::chrono::milliseconds) override {}
  void release_memory() override {}
};

TEST(DependentReadsOf, a_chain_pass_every_line_before_they_come_back) {
  Reader reader;
  EXPECT_EQ(dependent_read_seconds(reader, 1, std::chrono::milliseconds(0)).size(), 1u) << "one value at least";
  ASSERT_EQ(reader.walks.size(), 3u) << "one to get ready, a short chain, and a long one";
  EXPECT_GT(reader.walks[2].looks, 10 * reader.walks[1].looks);
  struct Walker final : Reader {
    std::set<uint32_t> lines;
    void start(const LitmusWalk& walk) override {
      const uint32_t* words = walk.memory->as<uint32_t>();
      uint32_t line = walk.round;
      while (lines.insert(line).second) line = words[line * litmus::kLineWords];
      Reader::start(walk);
    }
  } walker;
  dependent_read_seconds(walker, 1, std::chrono::milliseconds(0));
  EXPECT_EQ(walker.lines.size(), 8192u);
}

TEST(DependentReadsOf, a_side_that_reads_something_else_are_an_error) {
  struct Blind final : Reader {
    void start(const LitmusWalk&) override {}
  } blind;
  try {
    dependent_read_seconds(blind, 10, std::chrono::milliseconds(1));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("reader"));
  }
}

TEST(SyncLab, says_what_keeps_a_device_from_being_opened) {
  const LabResult result = run_sync_lab(options_for("opencl:99"));
  ASSERT_EQ(result.devices.size(), 1u);
  EXPECT_THAT(result.devices[0].problem, Not(IsEmpty()));
  EXPECT_THAT(result.devices[0].rows, IsEmpty());
}

TEST(SyncLab, ends_when_its_check_throws_and_gives_the_cores_back) {
  struct Enough {};
  LabOptions options = options_for("host");
  int looks = 0;
  options.check = [&] {
    if (++looks > 5) throw Enough();
  };
  EXPECT_THROW(run_sync_lab(options), Enough);
  EXPECT_EQ(looks, 6);
  EXPECT_EQ(cores_of_this_thread(), usable_cores());
}

// A device with the policies that the test needs. Its probes count steps, and lose the step with this number.
class Forgetful final : public Device, private DeviceLab {
 public:
  struct Counts {
    int started = 0, chains = 0, chained = 0;
  };
  explicit Forgetful(int loses = 3) : loses_(loses) {
    info_.id = "forgetful";
    info_.policies = {{sync::Policy::spin, true, "seen"}, {sync::Policy::event, false, "it has none"}};
  }
  const DeviceInfo& info() const override { return info_; }
  Support supports(const Operator&) const override { return {false, "computes nothing"}; }
  std::unique_ptr<Program> prepare(std::span<const Operator>) override { throw Error("computes nothing", info_.id); }
  void launch(std::shared_ptr<const LaunchSequence>, uint32_t) override {}
  Cost estimate(std::span<const Operator>) const override { return {}; }
  void finish(std::chrono::milliseconds) override {}
  DeviceLab& lab() override { return *this; }
  Counts counts;  // of all probes together

 private:
  void record_spans(bool) override {}
  std::vector<DeviceSpan> take_spans() override { return {}; }
  std::unique_ptr<LitmusAgent> litmus_agent() override { refuse_litmus(info_); }
  std::unique_ptr<SyncProbe> launch_probe(double) override { return std::make_unique<Probe>(counts, loses_); }
  std::unique_ptr<SyncProbe> sync_probe(sync::Policy policy, double) override {
    require_policy(info_, policy);
    return std::make_unique<Probe>(counts, loses_);
  }

  class Probe final : public SyncProbe {
   public:
    Probe(Counts& counts, int loses) : counts_(counts), loses_(loses) {}
    void arm() override {}
    void start() override { ++counts_.started; }
    sync::WaitReport wait(double, std::chrono::milliseconds) override {
      if (++steps_ == loses_) throw Error("a step was lost", "forgetful");
      return {};
    }
    void chain(int steps, std::chrono::milliseconds) override {
      ++counts_.chains;
      counts_.chained += steps;
    }
    void time_steps(bool) override {}
    double round_trip_seconds() const override { return 1e-6; }
    std::optional<StepTimes> last_step() const override { return {}; }

   private:
    Counts& counts_;
    int steps_ = 0;
    const int loses_;
  };
  DeviceInfo info_;
  const int loses_;
};

// The figure of a chain counts one signal for many steps. So steps with a signal each have a figure of their own. Round
// trips of 1 us and runs of 20 us make three runs of 20 steps, in both ways. Before them come 5 steps to warm up and
// three passes of 7.
TEST(SyncLab, starts_steps_one_by_one_and_hands_others_over_together) {
  Forgetful device(-1);
  RowRequest request;
  request.policy = sync::Policy::spin;
  request.rounds = 7;
  request.chain_seconds = 20e-6;
  request.pause = std::chrono::microseconds(0);
  const SyncRow row = measure_policy(device, request);
  ASSERT_EQ(row.status, RowStatus::measured) << row.reason;
  EXPECT_EQ(device.counts.chains, 3);
  EXPECT_EQ(device.counts.chained, 3 * 20);
  EXPECT_EQ(device.counts.started, 5 + 3 * 7 + 3 * 20);
  EXPECT_EQ(row.verified_steps, 5 + 3 * 7 + 3 * 20 + 3 * 20);
  EXPECT_GT(row.single_per_second, 0);
}

TEST(SyncLab, a_lost_step_is_a_failed_row_with_the_probes_reason) {
  Forgetful device;
  RowRequest request;
  request.policy = sync::Policy::spin;
  const SyncRow row = measure_policy(device, request);
  EXPECT_EQ(row.status, RowStatus::failed);
  EXPECT_THAT(row.reason, HasSubstr("a step was lost"));
  EXPECT_EQ(row.lost_steps, 1);
  EXPECT_EQ(row.verified_steps, 2);
}

TEST(SyncLab, a_policy_that_is_switched_off_is_a_row_with_its_reason) {
  Forgetful device;
  RowRequest request;
  request.policy = sync::Policy::event;
  const SyncRow row = measure_policy(device, request);
  EXPECT_EQ(row.status, RowStatus::off);
  EXPECT_THAT(row.reason, HasSubstr("it has none"));
  EXPECT_EQ(row.verified_steps, 0);
}

TEST(SyncLab, puts_the_waiter_on_a_core_that_the_device_leaves_free) {
  const CoreLayout layout{{0}, {1}, 1, true};
  EXPECT_EQ(waiter_core(layout, {0, 1}, {0}), 1);
  EXPECT_EQ(waiter_core(layout, {0, 1}, {1}), 0);
  EXPECT_EQ(waiter_core(layout, {0, 1}, {0, 1}), 1);  // no core is free
  EXPECT_EQ(waiter_core(layout, {0, 1}, {}), 1);
}

TEST(SyncLab, takes_fewer_rounds_of_longer_steps) {
  EXPECT_GT(default_rounds(0, false), default_rounds(1e-3, false));
  EXPECT_GE(default_rounds(1e-3, false), default_rounds(1, false));
  EXPECT_GT(default_rounds(1, false), 0);
  EXPECT_LE(default_rounds(0, true), 20);
}

TEST(PingPong, hands_every_word_over_and_takes_time_for_it) {
  if (usable_cores().size() < 2) GTEST_SKIP() << "skipped: one core only";
  const std::vector<double> times = sync::ping_pong(usable_cores()[0], usable_cores()[1], 200);
  EXPECT_GT(times.size(), 0u);
  EXPECT_LE(times.size(), 200u);
  for (const double seconds : times) EXPECT_GT(seconds, 0);
  EXPECT_GT(sync::clock_seconds(), 0);
  EXPECT_THROW(sync::ping_pong(0, 0, 1), Error);
}

}  // namespace
}  // namespace tandem::sync_lab
