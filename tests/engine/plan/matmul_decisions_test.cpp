#include "engine/plan/matmul_decisions.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace tandem
