// Plans by a function of the user's: what it gets, what its places become, and which places are refused.
#include "engine/plan/own_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "sync/error.h"
#include "tests/engine/plan/fake_devices.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kNever = std::numeric_limits<double>::infinity();

// A norm, a matmul of 256 rows and an addition behind it.
class OwnPlan : public ::testing::Test {
 protected:
  OwnPlan() {
    const auto slot = [&](size_t floats) {
      return Operand{&pool_.acquire(floats * 4, sync::SlotUse::activations, "m"), 0};
    };
    const Operand x = slot(2 * 64), normed = slot(2 * 64), y = slot(2 * 256);
    RmsNorm norm;
    norm.S = 2;
    norm.width = norm.x_stride = norm.y_stride = 64;
    norm.x = x;
    norm.y = normed;
    norm.weight = slot(64);
    MatMul matmul;
    matmul.S = 2;
    matmul.K = matmul.x_stride = 64;
    matmul.row_end = matmul.y_stride = 256;
    matmul.w = {packed_format(StorageType::f16), 256, 64, slot(256 * 64)};
    matmul.x = normed;
    matmul.y = y;
    operators_ = {{"norm", norm}, {"matmul", matmul}, {"after", Add{2, 64, x, y, 64, 256}}};
  }
  Plan make(const OwnPlanner& planner) {
    PlanRequest request{operators_, devices_, {}};
    request.costs.seconds = [](int device, const Operator&, bool) { return device + 1.0; };
    request.costs.sync_seconds = 0.25;
    return make_own_plan(request, planner);
  }
  Plan make(std::vector<Shares> places) {
    return make([&](const WorkToPlace&) { return places; });
  }
  void expect_refused(std::vector<Shares> places, const char* why) {
    try {
      make(std::move(places));
      ADD_FAILURE() << "not refused: " << why;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(why));
    }
  }
  std::vector<DeviceTraits> devices_ = {testing::fake_gpu(), testing::fake_npu()};
  sync::Pool pool_;
  std::vector<Operator> operators_;
};

TEST_F(OwnPlan, the_function_is_told_devices_operators_and_costs) {
  WorkToPlace told;
  make([&](const WorkToPlace& work) {
    told = work;
    return std::vector<Shares>(3, Shares{1, 0});
  });
  ASSERT_EQ(told.devices.size(), 2u);
  EXPECT_EQ(told.devices[1].id, "npu:0");
  EXPECT_TRUE(told.devices[0].cuts_rows);
  EXPECT_EQ(told.sync_seconds, 0.25);
  ASSERT_EQ(told.items.size(), 3u);
  EXPECT_EQ(told.items[1].name, "matmul");
  EXPECT_EQ(told.items[1].rows, 256);
  EXPECT_EQ(told.items[1].tokens, 2);
  EXPECT_EQ(told.items[0].rows, 0);
  EXPECT_THAT(told.items[1].seconds, ElementsAre(1, 2));
  EXPECT_THAT(told.items[0].seconds, ElementsAre(1, kNever));
}

TEST_F(OwnPlan, shares_cut_rows_and_waits_follow_from_memory) {
  const Plan plan = make({{1, 0}, {0.75, 0.25}, {1, 0}});
  EXPECT_EQ(plan.name, kOwnPlan);
  int64_t rows[2] = {0, 0};
  for (const Step& step : plan.steps)
    for (const Operator& op : step.operators)
      if (const auto* matmul = std::get_if<MatMul>(&op.body)) rows[step.device] += matmul->row_end - matmul->row_begin;
  EXPECT_THAT(rows, ElementsAre(192, 64));
  // The NPU waits for the norm. The addition reads rows of its own device alone.
  for (const Step& step : plan.steps) {
    if (step.device == 1) {
      EXPECT_THAT(step.waits, ElementsAre(0));
    }
  }
  EXPECT_EQ(plan.steps.front().operators.front().name, "norm");
}

TEST_F(OwnPlan, a_rule_that_is_broken_is_named) {
  expect_refused({{1, 0}, {1, 0}}, "2 places for 3 operators");
  expect_refused({{1, 0}, {1}, {1, 0}}, "matmul: 1 shares for 2 devices");
  expect_refused({{1, 0}, {0.5, 0.4}, {1, 0}}, "add up to 1");
  expect_refused({{1, 0}, {1.5, -0.5}, {1, 0}}, "add up to 1");
  expect_refused({{1, 0}, {std::nan(""), 1}, {1, 0}}, "add up to 1");
  expect_refused({{0, 1}, {1, 0}, {1, 0}}, "norm: npu:0 does not run it");
  devices_ = {testing::fake_gpu(), testing::fake_gpu("opencl:1")};
  expect_refused({{0.5, 0.5}, {1, 0}, {1, 0}}, "norm: it is divided, and it is no matmul");
  devices_ = {testing::fake_gpu(), testing::fake_host()};
  expect_refused({{1, 0}, {0.5, 0.5}, {1, 0}}, "host takes no part of rows");
}

TEST_F(OwnPlan, a_cache_of_devices_with_memory_of_their_own_stays_on_one) {
  operators_ = {{"first", Attention{}}, {"second", Attention{}}};
  devices_ = {testing::fake_gpu(), testing::fake_gpu("opencl:1")};
  devices_[1].zero_copy = false;
  expect_refused({{1, 0}, {0, 1}}, "second: the cache is on opencl:0");
}

}  // namespace
}  // namespace tandem
