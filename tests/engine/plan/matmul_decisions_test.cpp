#include "engine/plan/matmul_decisions.h"

#include <gtest/gtest.h>

#include "engine/plan/roles.h"
#include "engine/plan/strategy.h"
#include "tests/engine/plan/fake_devices.h"

namespace tandem {
namespace {

// One matmul for a GPU and an NPU of equal speed. Counts how often the planner asks for the time of a part.
class SolvedMatMulsOfPlans : public ::testing::Test {
 protected:
  SolvedMatMulsOfPlans() {
    MatMul matmul;
    matmul.S = 2;
    matmul.K = matmul.x_stride = 64;
    matmul.row_end = matmul.y_stride = 256;
    matmul.w = {packed_format(StorageType::f16), 256, 64, slot(256 * 64)};
    matmul.x = slot(2 * 64);
    matmul.y = slot(2 * 256);
    operators_ = {{"matmul", matmul}};
    costs_.seconds = [this](int, const Operator& op, bool) {
      ++asked_;
      const MatMul& part = std::get<MatMul>(op.body);
      return static_cast<double>((part.row_end - part.row_begin) * part.S);
    };
  }
  Operand slot(size_t floats) { return {&pool_.acquire(floats * 4, sync::SlotUse::activations, "m"), 0}; }
  int asked_for_a_plan() {
    asked_ = 0;
    const PlanRequest request{operators_, devices_, {}, false, costs_};
    plans_.push_back(find_strategy("tensor").make(request));
    return asked_;
  }

  const std::vector<DeviceTraits> devices_ = {testing::fake_gpu(), testing::fake_npu()};
  sync::Pool pool_;
  std::vector<Operator> operators_;
  PlanCosts costs_;
  std::vector<Plan> plans_;
  int asked_ = 0;
};

TEST_F(SolvedMatMulsOfPlans, are_asked_for_once_by_plans_of_the_same_costs) {
  costs_.solved = std::make_shared<SolvedMatMuls>();
  EXPECT_GT(asked_for_a_plan(), 0);
  EXPECT_EQ(asked_for_a_plan(), 0);
  ASSERT_EQ(plans_[0].decisions.size(), 1u);
  EXPECT_EQ(plans_[1].decisions[0].decision.chosen.cut, plans_[0].decisions[0].decision.chosen.cut);
  EXPECT_EQ(plans_[1].decisions[0].decision.why, plans_[0].decisions[0].decision.why);
}

TEST_F(SolvedMatMulsOfPlans, are_of_one_number_of_tokens_one_matrix_and_one_format) {
  costs_.solved = std::make_shared<SolvedMatMuls>();
  asked_for_a_plan();
  MatMul& matmul = std::get<MatMul>(operators_[0].body);
  matmul.S = 1;
  EXPECT_GT(asked_for_a_plan(), 0);
  matmul.row_end = 128;
  EXPECT_GT(asked_for_a_plan(), 0);
  matmul.w.format = packed_format(StorageType::q8_0);
  EXPECT_GT(asked_for_a_plan(), 0);
}

TEST_F(SolvedMatMulsOfPlans, are_asked_for_by_every_plan_where_nobody_keeps_them) {
  EXPECT_GT(asked_for_a_plan(), 0);
  EXPECT_GT(asked_for_a_plan(), 0);
}

// Two GPUs and two NPUs. For all rows a GPU takes 4 s and an NPU 2 s, so the GPUs together take 2 s and the NPUs 1 s.
// With 3/4 of the rows on the NPUs, they take 0.75 s and the GPUs 0.5 s. With 2/4 the GPUs take 1 s.
TEST(FourToyDevices, share_a_matmul_by_sides_and_within_each_side) {
  MatMul matmul;
  matmul.S = 1;
  matmul.K = matmul.x_stride = 64;
  matmul.row_end = matmul.y_stride = 1024;
  matmul.w = {packed_format(StorageType::f16), 1024, 64, {}};
  const std::vector<Operator> operators = {{"matmul", matmul}};
  const std::vector<DeviceTraits> devices = {testing::fake_npu(), testing::fake_gpu("opencl:0"),
                                             testing::fake_npu({}, "npu:1"), testing::fake_gpu("vulkan:0")};
  PlanCosts costs;
  costs.seconds = [](int device, const Operator& op, bool) {
    const MatMul& part = std::get<MatMul>(op.body);
    const double all = device == 1 || device == 3 ? 4 : 2;
    return all * static_cast<double>(part.row_end - part.row_begin) / 1024;
  };
  const PlanRequest request{operators, devices, {}, false, costs};
  const Plan plan = find_strategy("tensor").make(request);
  std::vector<int64_t> rows(devices.size()), covered(1024 / 64);
  for (const Step& step : plan.steps) {
    for (const Operator& op : step.operators) {
      const MatMul& part = std::get<MatMul>(op.body);
      rows[static_cast<size_t>(step.device)] += part.row_end - part.row_begin;
      for (int64_t panel = part.row_begin / 64; panel < part.row_end / 64; ++panel)
        ++covered[static_cast<size_t>(panel)];
    }
  }
  EXPECT_EQ(rows, (std::vector<int64_t>{384, 128, 384, 128}));
  EXPECT_EQ(covered, std::vector<int64_t>(16, 1));
  ASSERT_EQ(plan.decisions.size(), 1u);
  EXPECT_DOUBLE_EQ(plan.decisions[0].decision.chosen.seconds, 0.75);
}

// An NPU would round weights of 32 bits, so the GPUs share the matmul. A GPU that refuses it gets no rows.
TEST(TwoGpusBesideAnNpu, share_what_the_npu_would_round) {
  MatMul matmul;
  matmul.S = 1;
  matmul.K = matmul.x_stride = 64;
  matmul.row_end = matmul.y_stride = 512;
  matmul.w = {packed_format(StorageType::f32), 512, 64, {}};
  const std::vector<Operator> operators = {{"matmul", matmul}};
  std::vector<DeviceTraits> devices = {testing::fake_gpu("opencl:0"), testing::fake_gpu("vulkan:0"),
                                       testing::fake_npu()};
  PlanCosts costs;
  costs.seconds = [](int device, const Operator& op, bool) {
    const MatMul& part = std::get<MatMul>(op.body);
    return (device == 0 ? 1.0 : 3.0) * static_cast<double>(part.row_end - part.row_begin);
  };
  const auto rows = [&] {
    std::vector<int64_t> on(devices.size());
    for (const Step& step : find_strategy("tensor").make({operators, devices, {}, false, costs}).steps) {
      for (const Operator& op : step.operators) {
        const MatMul& part = std::get<MatMul>(op.body);
        on[static_cast<size_t>(step.device)] += part.row_end - part.row_begin;
      }
    }
    return on;
  };
  EXPECT_EQ(rows(), (std::vector<int64_t>{384, 128, 0}));
  devices[0].supports = [](const Operator&) { return Support{false, "too wide"}; };
  EXPECT_EQ(rows(), (std::vector<int64_t>{0, 512, 0}));
}

// The roles follow from what devices can do.
TEST(Roles, name_the_first_device_that_can_play_them) {
  const std::vector<DeviceTraits> devices = {testing::fake_host(), testing::fake_npu(), testing::fake_gpu()};
  EXPECT_EQ(first_with(devices, DeviceRole::general), 2);
  EXPECT_EQ(first_with(devices, DeviceRole::graphs), 1);
  EXPECT_EQ(first_with(devices, DeviceRole::helper), 0);
  EXPECT_EQ(first_with(std::span(devices).first(2), DeviceRole::general), -1);
  EXPECT_EQ(row_cutters(devices), (std::vector<int>{2, 1})) << "the host helps";
  EXPECT_EQ(row_cutters(std::span(devices).first(2)), (std::vector<int>{0, 1})) << "the host takes the GPU's place";
}

}  // namespace
}  // namespace tandem
