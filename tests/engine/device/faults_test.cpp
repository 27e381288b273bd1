// Faults in mid-plan on every kind of device. Each ends in the named error within its deadline, and the next run works.
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <thread>

#include "sync/affinity.h"
#include "sync/waiter.h"
#include "tests/engine/device/every_device.h"
#include "tests/engine/device/faults_support.h"
#include "tests/support/requirements.h"

namespace tandem::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using Fault = FaultyDevice::Fault;

#if defined(__SANITIZE_THREAD__)
constexpr bool kDrivers = false;  // the compiled kernels of drivers are not instrumented
#else
constexpr bool kDrivers = true;
#endif

// All ways to run a device other than the host. The host is the other device of each plan.
std::vector<FaultyWay> ways() {
  std::vector<FaultyWay> all;
  for (const DeviceFactory& factory : device_factories()) {
    const std::string prefix = factory.prefix;
    const bool driver = factory.kind == DeviceKind::gpu;
    if (factory.kind == DeviceKind::host || (driver && !kDrivers)) continue;
    all.push_back({prefix, prefix});
    all.push_back({prefix + "_blocking", prefix, sync::Policy::blocking});
    if (!driver) continue;
    all.push_back({prefix + "_one_token", prefix, sync::Policy::predict, false, 1});
    all.push_back({prefix + "_copies", prefix, sync::Policy::predict, true});
  }
  return all;
}

class Faults : public ::testing::TestWithParam<FaultyWay> {};

#define OPEN_BENCH(bench, ...)                 \
  FaultBench bench(GetParam(), ##__VA_ARGS__); \
  if (!bench.open()) SKIP_OR_FAIL(test::needs_of(GetParam().prefix), "no " + GetParam().prefix + " device")

TEST_P(Faults, a_step_that_never_raises_its_flag_ends_at_the_deadline_with_its_name) {
  OPEN_BENCH(bench, milliseconds(2000));
  ASSERT_TRUE(bench.runs_well());
  {
    bench.faulty->fail_next(Fault::mute);
    const std::string error = bench.run();
    EXPECT_THAT(error, HasSubstr("deadline"));
    EXPECT_THAT(error, HasSubstr("blk.0.product"));
    EXPECT_THAT(error, HasSubstr(bench.device().info().id));
    EXPECT_THAT(error, HasSubstr("wanted epoch"));
    EXPECT_TRUE(bench.runs_well());
  }
}

TEST_P(Faults, a_device_lost_in_mid_plan_is_named_and_the_next_run_works) {
  OPEN_BENCH(bench);
  ASSERT_TRUE(bench.runs_well());
  for (int round = 0; round < 2; ++round) {
    bench.faulty->fail_next(Fault::lost);
    const std::string error = bench.run();
    EXPECT_THAT(error, HasSubstr("the device is lost"));
    EXPECT_THAT(error, HasSubstr("blk.0.product"));
    EXPECT_THAT(error, HasSubstr(bench.device().info().id));
    EXPECT_TRUE(bench.runs_well());
  }
}

TEST_P(Faults, a_signal_raised_by_a_wrong_epoch_fails_its_flag_and_the_next_run_works) {
  OPEN_BENCH(bench);
  ASSERT_TRUE(bench.runs_well());
  for (int round = 0; round < 2; ++round) {
    bench.faulty->fail_next(Fault::wrong_epoch);
    const std::string error = bench.run();
    EXPECT_THAT(error, HasSubstr("wrong epoch"));
    EXPECT_THAT(error, HasSubstr("blk.0.product"));
    EXPECT_TRUE(bench.runs_well());
  }
}

// The run may end before the second signal arrives. Then the next wait for the flag reports it.
TEST_P(Faults, a_signal_raised_twice_fails_its_flag_and_the_next_run_works) {
  OPEN_BENCH(bench);
  const Operator op = bench.plan.product();
  Device& device = bench.device();
  const auto program = device.prepare(std::span(&op, 1));
  sync::FlagBank flags(bench.plan.pool, 1, "flags of the test");
  const sync::Flag done = flags.make("done");
  for (uint32_t epoch = 5; epoch < 7; ++epoch) {
    launch_one(device, *program, {}, {done, epoch});
    launch_one(device, *program, {}, {done, epoch});
    message_of([&] { device.finish(std::chrono::seconds(60)); });  // some devices report it here
    sync::WaitContext context;
    context.step = "next", context.device = device.info().id, context.deadline = std::chrono::seconds(60);
    const std::string error =
        message_of([&] { sync::make_waiter(sync::Policy::predict)->wait(done, epoch + 1, context); });
    EXPECT_THAT(error, HasSubstr("twice"));
    EXPECT_THAT(error, HasSubstr("'done'"));
    EXPECT_THAT(error, HasSubstr(device.info().id));
    done.clear_failure();
  }
  EXPECT_TRUE(bench.runs_well());
}

// Occupies a core for a while, with a real-time thread if the system allows one, else with several busy threads.
class TakenCore {
 public:
  TakenCore(int core, milliseconds time) {
    begin(core, time, SCHED_FIFO);
    if (!refused_) return;
    for (int i = 0; i < 8; ++i) begin(core, time, SCHED_OTHER);
  }
  ~TakenCore() {
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void begin(int core, milliseconds time, int policy) {
    std::atomic<int> state{0};
    threads_.emplace_back([core, time, policy, &state] {
      pin_this_thread({{core}});
      const sched_param priority{policy == SCHED_FIFO ? 10 : 0};
      const bool allowed = pthread_setschedparam(pthread_self(), policy, &priority) == 0;
      state.store(allowed ? 1 : 2);
      if (!allowed) return;
      for (const auto begin = std::chrono::steady_clock::now(); std::chrono::steady_clock::now() - begin < time;) {
      }
    });
    while (state.load() == 0) sched_yield();
    refused_ = state.load() == 2;
  }
  bool refused_ = false;
  std::vector<std::thread> threads_;
};

TEST_P(Faults, a_run_whose_cores_are_taken_one_after_the_other_ends_well) {
  OPEN_BENCH(bench);
  ASSERT_TRUE(bench.runs_well());
  for (const int core : cores_of_this_thread()) {
    const TakenCore taken(core, milliseconds(150));
    EXPECT_TRUE(bench.runs_well()) << "core " << core;
  }
  EXPECT_TRUE(bench.runs_well());
}

// The host is in every plan. Its second step is the last step of the plan.
TEST(HostFaults, end_in_an_error_that_names_step_and_device_and_the_next_run_works) {
  FaultBench bench({"npu", "npu"}, milliseconds(2000));
  ASSERT_TRUE(bench.runs_well());
  for (const auto& [fault, text] : {std::pair{Fault::mute, "deadline"}, std::pair{Fault::lost, "is lost"},
                                    std::pair{Fault::wrong_epoch, "wrong epoch"}}) {
    bench.faulty_host->fail_next(fault, 1);
    const std::string error = bench.run();
    EXPECT_THAT(error, HasSubstr(text));
    EXPECT_THAT(error, HasSubstr("flag 'host done'"));
    // The device may be lost before the NPU's step has seen the host's first step. Then the error names the NPU's step.
    if (fault != Fault::lost) {
      EXPECT_THAT(error, HasSubstr("step 'blk.0.sum', flag 'host done', device host"));
    }
    EXPECT_TRUE(bench.runs_well()) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, Faults, ::testing::ValuesIn(ways()), [](const auto& info) { return info.param.name; });

TEST(FaultsSuite, runs_on_every_kind_of_device_there_is) {
  std::vector<std::string> kinds = {"host"};
  if (!kDrivers) kinds = {"host", "opencl", "vulkan"};
  for (const FaultyWay& way : ways()) kinds.push_back(way.prefix);
  test::expect_every_device(kinds);
}

class TakenWaiter : public ::testing::TestWithParam<std::string> {
 protected:
  // Waits on `core` while another thread occupies it. Returns the text of the error, or "".
  std::string wait_on(int core, milliseconds taken_for, milliseconds deadline, bool raise) {
    std::atomic<bool> waits{false};
    std::string error;
    std::thread waiting([&] {
      pin_this_thread({{core}});
      sync::WaitContext context;
      context.step = "blk.3.ffn", context.device = "npu:7", context.deadline = deadline;
      context.predicted_seconds = 1e-3;
      waits.store(true);
      error = message_of([&] { sync::make_waiter(sync::policy_named(GetParam()))->wait(flag_, epoch_, context); });
    });
    while (!waits.load()) sched_yield();
    {
      const TakenCore taken(core, taken_for);
      if (raise) flag_.raise(epoch_);
    }
    waiting.join();
    return error;
  }
  sync::Pool pool_;
  sync::FlagBank bank_{pool_, 1, "flags"};
  sync::Flag flag_ = bank_.make("npu:7 done");
  uint32_t epoch_ = 1;
};

TEST_P(TakenWaiter, ends_when_its_flag_is_raised) {
  for (const int core : cores_of_this_thread()) {
    EXPECT_EQ(wait_on(core, milliseconds(100), milliseconds(60000), true), "") << "core " << core;
    ++epoch_;
  }
}

TEST_P(TakenWaiter, ends_at_its_deadline_with_step_flag_device_and_epochs) {
  const std::string error = wait_on(cores_of_this_thread().front(), milliseconds(100), milliseconds(50), false);
  EXPECT_THAT(error, HasSubstr("deadline"));
  EXPECT_THAT(error, HasSubstr("step 'blk.3.ffn', flag 'npu:7 done', device npu:7, wanted epoch 1, seen 0"));
  flag_.raise(1);
  ++epoch_;
  EXPECT_EQ(wait_on(cores_of_this_thread().front(), milliseconds(20), milliseconds(60000), true), "")
      << "the next wait";
}

INSTANTIATE_TEST_SUITE_P(Policies, TakenWaiter, ::testing::ValuesIn(sync::waiter_names()));

TEST(Memory, more_than_the_system_has_is_a_named_error_and_the_pool_goes_on) {
  sync::Pool pool;
  const std::string error = message_of([&] { pool.acquire(size_t{1} << 60, sync::SlotUse::weights, "huge weights"); });
  EXPECT_THAT(error, HasSubstr("huge weights"));
  EXPECT_NO_THROW(pool.acquire(4096, sync::SlotUse::weights, "small weights"));
}

// On the NPU, compiling means to compile a graph of operators that the chip has.
TEST(Npu, refuses_a_graph_it_cannot_compile_by_name_and_compiles_the_next_one) {
  FaultPlan plan(3);
  const auto npu = open_device("npu:0", {});
  sync::Slot& x = plan.pool.acquire(4096, sync::SlotUse::activations, "other x");
  const Operator add{"blk.7.add", Add{1, 64, {&x, 0}, {&x, 0}, 64, 64}}, product = plan.product();
  EXPECT_THAT(message_of([&] { npu->prepare(std::span(&add, 1)); }), HasSubstr("blk.7.add"));
  EXPECT_NE(npu->prepare(std::span(&product, 1)), nullptr);
}

}  // namespace
}  // namespace tandem::testing
