// The planner over devices that compute nothing and take a given time, so that it is known which plan is the fastest.
#include "engine/run/planner.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "engine/model/weights.h"
#include "sync/error.h"
#include "tests/engine/run/host_engine.h"

namespace tandem {
namespace {

using std::chrono::microseconds;

class SlowProgram final : public Program {
 public:
  explicit SlowProgram(microseconds time) : time(time) {}
  const microseconds time;
};

// Runs where it is launched, which is in the plan's order: what a step waits for has ended.
class SlowDevice final : public Device {
 public:
  SlowDevice(const char* id, DeviceKind kind, microseconds matmul) : matmul_(matmul) {
    info_.id = info_.name = id;
    info_.kind = kind;
    info_.zero_copy = true;
  }
  const DeviceInfo& info() const override { return info_; }
  Support supports(const Operator& op) const override {
    const bool only_matmul = info_.kind == DeviceKind::npu;
    if (only_matmul && !std::holds_alternative<MatMul>(op.body)) return {false, "not a matmul"};
    return {};
  }
  std::unique_ptr<Program> prepare(std::span<const Operator> operators) override {
    microseconds time{0};
    for (const Operator& op : operators)
      if (std::holds_alternative<MatMul>(op.body)) time += matmul_;
    return std::make_unique<SlowProgram>(time);
  }
  void launch(Program& program, std::span<const sync::WaitFor>, sync::Signal signal) override {
    std::this_thread::sleep_for(static_cast<SlowProgram&>(program).time);
    if (signal.flag) signal.flag.raise(signal.epoch);
  }
  void batch(bool) override {}
  Cost estimate(std::span<const Operator>) const override { return {}; }
  void finish(std::chrono::milliseconds) override {}
  void record_spans(bool) override {}
  std::vector<DeviceSpan> take_spans() override { return {}; }
  std::unique_ptr<SyncProbe> sync_probe(std::string_view policy, double) override {
    throw Error("no probe", std::string(policy));
  }

 private:
  DeviceInfo info_;
  microseconds matmul_;
};

class Planning : public ::testing::Test {
 protected:
  Planner planner(const std::string& plan, PlannerOptions options = {}) {
    options.plan = plan;
    options.on_long_work = [this](const std::string&) { ++measured_; };
    return Planner(PlannedModel{model_, activations_, devices_, nullptr, "a model"}, std::move(options), executor_,
                   cache_);
  }
  static std::vector<std::unique_ptr<Device>> slow_devices() {
    std::vector<std::unique_ptr<Device>> devices;
    devices.push_back(std::make_unique<SlowDevice>("opencl:9", DeviceKind::gpu, microseconds(1)));
    devices.push_back(std::make_unique<SlowDevice>("npu:9", DeviceKind::npu, microseconds(1000)));
    return devices;
  }

  const testing::HostEngines files_{"planner"};
  const GgufFile file_ = GgufFile::open(files_.path());
  sync::Pool pool_;
  const Model model_ = load_model(file_, pool_, 1);
  const Activations activations_{model_.config, {8, 1, 8192, 8192, KvType::f16}, &pool_};
  const std::vector<std::unique_ptr<Device>> devices_ = slow_devices();
  Executor executor_{pool_, {devices_[0].get(), devices_[1].get()}, {}};
  DiskCache cache_{""};
  int measured_ = 0;
};

// An NPU that takes a millisecond for every matmul: in the plan that puts all of them there a pass takes nine.
TEST_F(Planning, does_not_choose_the_plan_that_keeps_everybody_waiting) {
  Planner automatic = planner("auto");
  const std::string chosen = automatic.name_for({1, 1}, 0);
  EXPECT_NE(chosen, "layer");
  EXPECT_EQ(measured_, 1);
  EXPECT_EQ(planner("auto").name_for({1, 1}, 0), chosen);
  EXPECT_EQ(measured_, 1) << "the choice is kept";
  PlannerOptions follow;
  follow.submit = "follow";
  Planner other = planner("auto", follow);
  other.name_for({1, 1}, 0);
  EXPECT_EQ(measured_, 2) << "one for another way of submitting is another choice";
}

TEST_F(Planning, makes_plans_anew_as_the_context_grows_and_fewer_the_deeper_it_is) {
  Planner staggered = planner("staggered");
  for (const auto& [position, past] : {std::pair<int64_t, int64_t>{0, 0},
                                       {255, 0},
                                       {256, 256},
                                       {700, 512},
                                       {1023, 768},
                                       {1024, 1024},
                                       {2047, 1024},
                                       {2048, 2048},
                                       {8000, 4096}})
    EXPECT_EQ(staggered.planned_past({8, 1}, position), past) << position;
  Planner rows = planner("rows");
  EXPECT_EQ(rows.planned_past({8, 1}, 8000), 0) << "a plan that does not weigh attention";
}

TEST_F(Planning, gives_the_npu_the_share_that_the_user_names) {
  PlannerOptions options;
  options.split = {0.8};  // of 320 rows of the vocabulary, 5 panels: 4
  int64_t rows[2] = {0, 0};
  for (const Step& step : planner("rows", options).make("rows", {1, 1}, 0).steps) {
    for (const Operator& op : step.operators) {
      const auto* matmul = std::get_if<MatMul>(&op.body);
      if (matmul && op.name == "output") rows[step.device] += matmul->row_end - matmul->row_begin;
    }
  }
  EXPECT_EQ(rows[0], 64);
  EXPECT_EQ(rows[1], 256);
}

TEST(LengthClass, is_named_by_its_longest_length) {
  for (const auto& [S, longest] : {std::pair<int64_t, int64_t>{1, 4},
                                   {4, 4},
                                   {5, 32},
                                   {32, 32},
                                   {33, 64},
                                   {256, 256},
                                   {257, 384},
                                   {384, 384},
                                   {385, 512}})
    EXPECT_EQ(length_class(S), longest) << S;
}

}  // namespace
}  // namespace tandem
