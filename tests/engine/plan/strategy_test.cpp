#include "engine/plan/strategy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sync/error.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Support everything(const Operator&) { return {}; }
Support only_matmul(const Operator& op) {
  if (std::holds_alternative<MatMul>(op.body)) return {};
  return {false, "not a matmul"};
}

class Strategies : public ::testing::Test {
 protected:
  Strategies() {
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
  Plan make(const char* name, std::vector<DeviceTraits> devices, double share = 0.5, bool strict = false) {
    devices_ = std::move(devices);
    PlanRequest request{operators_, devices_, {}, strict, {}};
    request.shares.otherwise = {1 - share, share};
    return find_strategy(name).make(request);
  }
  const DeviceTraits gpu_{"opencl:0", DeviceKind::gpu, everything}, npu_{"npu:0", DeviceKind::npu, only_matmul},
      host_{"host", DeviceKind::host, everything};
  sync::Pool pool_;
  std::vector<Operator> operators_;
  std::vector<DeviceTraits> devices_;
};

int rows_on(const Plan& plan, int device) {
  int64_t rows = 0;
  for (const Step& step : plan.steps) {
    for (const Operator& op : step.operators) {
      const MatMul* matmul = std::get_if<MatMul>(&op.body);
      if (matmul && step.device == device) rows += matmul->row_end - matmul->row_begin;
    }
  }
  return static_cast<int>(rows);
}

TEST_F(Strategies, gpu_only_is_one_step) {
  const Plan plan = make("gpu-only", {gpu_});
  EXPECT_EQ(plan.steps.size(), 1u);
  EXPECT_EQ(rows_on(plan, 0), 256);
}

TEST_F(Strategies, layer_puts_matmuls_on_the_npu_and_the_rest_on_the_gpu) {
  const Plan plan = make("layer", {gpu_, npu_});
  ASSERT_EQ(plan.steps.size(), 3u);
  EXPECT_EQ(plan.steps[1].device, 1);
  EXPECT_EQ(rows_on(plan, 1), 256);
  EXPECT_TRUE(plan.notes.empty());
}

TEST_F(Strategies, npu_only_names_each_kind_of_operator_that_falls_back) {
  const Plan plan = make("npu-only", {gpu_, npu_});
  EXPECT_EQ(rows_on(plan, 1), 256);
  ASSERT_EQ(plan.notes.size(), 2u);
  EXPECT_THAT(plan.notes[0], HasSubstr("npu:0 does not run rms_norm: not a matmul; it runs on opencl:0"));
}

TEST_F(Strategies, a_strict_plan_refuses_to_fall_back) {
  try {
    make("npu-only", {gpu_, npu_}, 0.5, true);
    FAIL() << "an operator fell back";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("norm"));
    EXPECT_THAT(error.what(), HasSubstr("--strict-device"));
  }
}

TEST_F(Strategies, tensor_cuts_every_matmul_at_the_given_share) {
  for (const auto& [share, npu_rows] : {std::pair{0.0, 0}, {0.25, 64}, {0.5, 128}, {1.0, 256}}) {
    const Plan plan = make("tensor", {gpu_, npu_}, share);
    EXPECT_EQ(rows_on(plan, 1), npu_rows) << share;
    EXPECT_EQ(rows_on(plan, 0), 256 - npu_rows) << share;
  }
}

TEST_F(Strategies, tensor_cuts_in_three_among_two_gpus_and_an_npu) {
  const DeviceTraits vulkan{"vulkan:0", DeviceKind::gpu, everything};
  devices_ = {npu_, vulkan, gpu_};
  PlanRequest request{operators_, devices_, {}, false};
  request.shares.otherwise = {0.5, 0.25, 0.25};
  const Plan plan = find_strategy("tensor").make(request);
  EXPECT_EQ(rows_on(plan, 1), 128) << "GPUs come first, in the order of --device";
  EXPECT_EQ(rows_on(plan, 2), 64);
  EXPECT_EQ(rows_on(plan, 0), 64);
  request.shares.otherwise = {};
  EXPECT_EQ(rows_on(find_strategy("tensor").make(request), 0), 64) << "equal parts: 1.33 panels round to 1";
}

TEST_F(Strategies, tensor_says_what_shares_it_needs) {
  devices_ = {gpu_, npu_};
  PlanRequest request{operators_, devices_, {}, false};
  for (const std::vector<double>& shares : {std::vector{0.5, 0.25, 0.25}, {0.5, 0.4}}) {
    request.shares.otherwise = shares;
    try {
      find_strategy("tensor").make(request);
      FAIL() << "it took shares that do not fit";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("add up to 1"));
      EXPECT_THAT(error.what(), HasSubstr("2 devices"));
    }
  }
}

TEST_F(Strategies, the_host_stands_in_where_there_is_no_gpu) {
  const Plan plan = make("tensor", {npu_, host_});
  EXPECT_EQ(rows_on(plan, 0), 128);
  EXPECT_EQ(rows_on(plan, 1), 128);
}

TEST_F(Strategies, a_plan_without_its_device_says_which_one_is_missing) {
  try {
    make("layer", {gpu_});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("NPU"));
  }
}

TEST(FindStrategy, lists_the_plans_when_the_name_is_unknown) {
  try {
    find_strategy("magic");
    FAIL();
  } catch (const Error& error) {
    for (const Strategy& strategy : strategies()) EXPECT_THAT(error.what(), HasSubstr(strategy.name));
  }
}

TEST(RowShares, uses_the_measured_share_of_a_shape_and_the_general_one_otherwise) {
  MatMul op;
  op.S = 1;
  op.K = 64;
  op.row_end = 256;
  op.w.format = packed_format(StorageType::q4_1);
  RowShares shares;
  shares.otherwise = {0.7, 0.3};
  EXPECT_THAT(shares.of(op), ElementsAre(0.7, 0.3));
  shares.by_shape[shape_of(op)] = {0.4, 0.6};
  EXPECT_THAT(shares.of(op), ElementsAre(0.4, 0.6));
  op.S = 2;
  EXPECT_THAT(shares.of(op), ElementsAre(0.7, 0.3));
}

}  // namespace
}  // namespace tandem
