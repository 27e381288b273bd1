#include "engine/plan/strategy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "engine/plan/partition/balance.h"
#include "sync/error.h"
#include "tests/engine/plan/fake_devices.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
    PlanRequest request{operators_, devices_, {}, strict};
    request.shares.otherwise = {1 - share, share};
    return find_strategy(name).make(request);
  }
  const DeviceTraits gpu_ = testing::fake_gpu(), npu_ = testing::fake_npu(), host_ = testing::fake_host();
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

TEST_F(Strategies, rows_cuts_every_matmul_at_the_given_share) {
  for (const auto& [share, npu_rows] : {std::pair{0.0, 0}, {0.25, 64}, {0.5, 128}, {1.0, 256}}) {
    const Plan plan = make("rows", {gpu_, npu_}, share);
    EXPECT_EQ(rows_on(plan, 1), npu_rows) << share;
    EXPECT_EQ(rows_on(plan, 0), 256 - npu_rows) << share;
  }
}

// Devices with small buffers receive slices of a matmul, and the strategy cuts the slices again.
TEST_F(Strategies, rows_cuts_the_rows_of_a_slice_and_no_others) {
  std::get<MatMul>(operators_[1].body).row_begin = 64;
  const Plan plan = make("rows", {gpu_, npu_}, 0.34);
  std::vector<std::array<int64_t, 3>> parts;  // device, first row, end
  for (const Step& step : plan.steps) {
    for (const Operator& op : step.operators) {
      if (const auto* matmul = std::get_if<MatMul>(&op.body))
        parts.push_back({step.device, matmul->row_begin, matmul->row_end});
    }
  }
  EXPECT_THAT(parts,
              ::testing::UnorderedElementsAre(std::array<int64_t, 3>{0, 64, 192}, std::array<int64_t, 3>{1, 192, 256}));
}

TEST_F(Strategies, rows_cuts_in_three_among_two_gpus_and_an_npu) {
  const DeviceTraits vulkan = testing::fake_gpu("vulkan:0");
  devices_ = {npu_, vulkan, gpu_};
  PlanRequest request{operators_, devices_, {}, false};
  request.shares.otherwise = {0.5, 0.25, 0.25};
  const Plan plan = find_strategy("rows").make(request);
  EXPECT_EQ(rows_on(plan, 1), 128) << "GPUs come first, in the order of --device";
  EXPECT_EQ(rows_on(plan, 2), 64);
  EXPECT_EQ(rows_on(plan, 0), 64);
  request.shares.otherwise = {};
  EXPECT_EQ(rows_on(find_strategy("rows").make(request), 0), 64) << "equal parts: 1.33 panels round to 1";
}

TEST_F(Strategies, rows_says_what_shares_it_needs) {
  devices_ = {gpu_, npu_};
  PlanRequest request{operators_, devices_, {}, false};
  for (const std::vector<double>& shares : {std::vector{0.5, 0.25, 0.25}, {0.5, 0.4}}) {
    request.shares.otherwise = shares;
    try {
      find_strategy("rows").make(request);
      FAIL() << "it took shares that do not fit";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("add up to 1"));
      EXPECT_THAT(error.what(), HasSubstr("2 devices"));
    }
  }
}

// Like Strategies, but with a batch of 32 tokens and an operator behind it for the last token.
class Cuts : public ::testing::Test {
 protected:
  Cuts() { take_batch_of(32); }
  void take_batch_of(int64_t S) {
    const auto slot = [&](int64_t floats) {
      return Operand{&pool_.acquire(static_cast<size_t>(floats) * 4, sync::SlotUse::activations, "m"), 0};
    };
    MatMul matmul;
    matmul.S = S;
    matmul.K = matmul.x_stride = 64;
    matmul.row_end = matmul.y_stride = 256;
    matmul.w = {packed_format(StorageType::f16), 256, 64, slot(256 * 64)};
    matmul.x = slot(S * 64);
    matmul.y = slot(S * 256);
    const Operand x = slot(S * 256);
    MatMul last = matmul;
    last.S = 1;
    last.x = last.x.advanced((S - 1) * 64 * 4);
    last.y = slot(256);
    operators_ = {{"matmul", matmul}, {"after", Add{S, 256, x, matmul.y, 256, 256}}, {"output", last}};
  }
  Plan make(const char* name, std::vector<DeviceTraits> devices) {
    devices_ = std::move(devices);
    PlanRequest request{operators_, devices_, {}, false};
    // Each token takes a second in a matmul and half a second in other operators. The first device takes three times as
    // long as the others.
    request.costs.seconds = [this](int device, const Operator& op, bool) {
      const bool multiplies = std::holds_alternative<MatMul>(op.body);
      return static_cast<double>(tokens_of(op)) * (multiplies ? 1 : 0.5) * (device == 0 ? first_takes_ : 1);
    };
    return find_strategy(name).make(request);
  }
  // "operator tokens rows" for each operator that a device runs.
  std::vector<std::string> on(const Plan& plan, int device) const {
    std::vector<std::string> texts;
    for (const Step& step : plan.steps) {
      if (step.device != device) continue;
      for (const Operator& op : step.operators) {
        const auto* matmul = std::get_if<MatMul>(&op.body);
        texts.push_back(op.name + " " + std::to_string(tokens_of(op)) +
                        (matmul ? " " + std::to_string(matmul->row_end - matmul->row_begin) : ""));
      }
    }
    return texts;
  }
  const DeviceTraits gpu_ = testing::fake_gpu(), npu_ = testing::fake_npu(), host_ = testing::fake_host();
  double first_takes_ = 3;
  sync::Pool pool_;
  std::vector<Operator> operators_;
  std::vector<DeviceTraits> devices_;
};

// Half of 28 in blocks of 8 is 8. The GPU's 20 tokens take 30 s and the others' 8 tokens 12 s: 1.5 s a token on both
// sides. With 16 of 28 tokens on the NPU the run ends after 24 s, with 8 after 30 s, with 24 after 36 s.
TEST_F(Cuts, sequence_weighs_tokens_not_halves_where_halves_are_no_blocks) {
  take_batch_of(28);
  first_takes_ = 1;
  const Plan plan = make("sequence", {gpu_, npu_, host_});
  EXPECT_THAT(on(plan, 0), ::testing::Contains("after 12"));
  EXPECT_THAT(on(plan, 2), ElementsAre("after 16"));
}

TEST_F(Cuts, sequence_gives_each_side_the_tokens_it_is_fast_enough_for) {
  // 16 tokens take 72 s on the GPU and 24 s on the others. So the others get 72 / 96 of the 32 tokens, which is 24.
  const Plan plan = make("sequence", {gpu_, npu_, host_});
  EXPECT_THAT(on(plan, 0), ElementsAre("matmul 8 256", "after 8"));
  EXPECT_THAT(on(plan, 1), ElementsAre("matmul 24 256", "output 1 256")) << "256 rows are not cut; the NPU is faster";
  EXPECT_THAT(on(plan, 2), ElementsAre("after 24"));
  EXPECT_TRUE(plan.notes.empty());
}

TEST_F(Cuts, sequence_has_the_npu_help_when_it_is_through_with_its_tokens) {
  // The NPU has one size, 16 tokens. The NPU and the host finish their tokens after 16 + 8 + 16 = 40 s. The GPU's
  // operators begin at 0, 48 and 72 s. The NPU takes rows of the last one, 3 to 1.
  Operator again = operators_[0];
  again.name = "again";
  operators_ = {operators_[0], operators_[1], again};
  DeviceTraits npu = npu_;
  npu.graph_tokens = {16};
  const Plan plan = make("sequence", {gpu_, npu, host_});
  EXPECT_THAT(on(plan, 0), ElementsAre("matmul 16 256", "after 16", "again 16 64"));
  EXPECT_THAT(on(plan, 1), ElementsAre("matmul 16 256", "again 16 256", "again 16 192"));
  EXPECT_THAT(on(plan, 2), ElementsAre("after 16"));
}

TEST_F(Cuts, sequence_names_the_device_it_misses) {
  try {
    make("sequence", {gpu_, npu_});
    FAIL() << "there is no host";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("host"));
  }
}

TEST_F(Cuts, sequence_needs_a_gpu_that_sees_the_hosts_memory) {
  DeviceTraits apart = gpu_;
  apart.zero_copy = false;
  try {
    make("sequence", {apart, npu_, host_});
    FAIL() << "the GPU never sees the keys of the first tokens";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("opencl:0"));
    EXPECT_THAT(error.what(), HasSubstr("copies"));
  }
}

TEST_F(Cuts, staggered_multiplies_both_halves_on_both_devices_and_keeps_the_rest_on_the_first) {
  const Plan plan = make("staggered", {gpu_, npu_});
  int64_t rows = 0;
  for (const Step& step : plan.steps) {
    for (const Operator& op : step.operators) {
      const auto* matmul = std::get_if<MatMul>(&op.body);
      if (matmul) rows += matmul->S * (matmul->row_end - matmul->row_begin);
      EXPECT_TRUE(matmul != nullptr || step.device == 0) << op.name;
    }
  }
  EXPECT_EQ(rows, 32 * 256 + 256) << "every row of every token once";
  EXPECT_THAT(on(plan, 0), ::testing::IsSupersetOf({"after 16", "after 16"}));
  EXPECT_THAT(on(plan, 1), ::testing::Contains("output 1 256"));
}

TEST_F(Cuts, staggered_halves_a_prompt_where_the_npus_sizes_allow) {
  DeviceTraits npu = npu_;
  npu.graph_tokens = {24};
  const Plan plan = make("staggered", {gpu_, npu});
  EXPECT_THAT(on(plan, 0), ::testing::IsSupersetOf({"after 24", "after 8"}));
  npu.graph_tokens = {8};
  EXPECT_THAT(on(make("staggered", {gpu_, npu}), 0), ::testing::IsSupersetOf({"after 16", "after 16"}));
}

TEST_F(Cuts, staggered_works_between_the_first_device_of_each_side) {
  const Plan three = make("staggered", {gpu_, testing::fake_gpu("vulkan:0"), npu_}),
             two = make("staggered", {gpu_, npu_});
  // The output behind the halves is cut as in `tensor`, between all three.
  const auto halves_on = [&](const Plan& plan, int device) {
    auto placed = on(plan, device);
    std::erase_if(placed, [](const std::string& op) { return op.starts_with("output"); });
    return placed;
  };
  EXPECT_EQ(halves_on(three, 0), halves_on(two, 0));
  EXPECT_TRUE(halves_on(three, 1).empty());
  EXPECT_EQ(halves_on(three, 2), halves_on(two, 1));
  try {
    make("staggered", {gpu_});
    FAIL() << "there is one";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("two devices"));
  }
}

TEST(BalancedTokens, make_both_sides_end_together) {
  const CutLimits any{{}, 64, 8, 0};
  EXPECT_EQ(balanced_tokens(256, 1.0, 1.0, any), 128);
  EXPECT_EQ(balanced_tokens(256, 3.0, 1.0, any), 192) << "the first takes three times as long: a quarter is left to it";
  EXPECT_EQ(balanced_tokens(256, 1.0, 1.3, any), 112) << "256 / 2.3 = 111.3, in steps of 8 tokens";
  EXPECT_EQ(balanced_tokens(16, 1e9, 1.0, any), 8)
      << "the last token's block stays on the first, which goes on with it";
  EXPECT_EQ(balanced_tokens(20, 1.0, 1e9, any), 0);
}

TEST(FirstShared, is_what_begins_when_the_other_side_is_done) {
  const std::vector<double> seconds = {2, 3, 4};  // begins are 0, 2, 5; the end is 9
  EXPECT_EQ(first_shared(seconds, 0), 0u);
  EXPECT_EQ(first_shared(seconds, 2), 1u);
  EXPECT_EQ(first_shared(seconds, 2.5), 2u);
  EXPECT_EQ(first_shared(seconds, 6), 3u) << "nothing begins after 6";
}

TEST(BalancedTokens, are_a_sum_of_standard_sizes) {
  EXPECT_EQ(balanced_tokens(256, 1.0, 1.0, {{96, 256}, 64, 32, 0}), 96)
      << "160 are left; with 192 they would end at 192";
  EXPECT_EQ(balanced_tokens(256, 1.0, 1.3, {{32, 64, 128}, 64, 32, 0}), 96)
      << "96 tokens end after 124.8 and the other 160 after 160; 128 end after 166.4";
  EXPECT_EQ(balanced_tokens(256, 1.0, 1.0, {{512}, 64, 32, 0}), 0) << "no size is small enough";
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

TEST(AutoNeeds, are_met_by_kinds_by_threads_and_by_one_memory) {
  const std::vector<DeviceTraits> all = {testing::fake_gpu(), testing::fake_npu(), testing::fake_host("npu:0")};
  const auto tried = [](std::span<const DeviceTraits> devices) {
    std::vector<std::string> names;
    for (const Strategy& strategy : strategies_for_any_model())
      if (strategy.tried_by_auto && are_met(strategy.auto_needs, devices)) names.emplace_back(strategy.name);
    return names;
  };
  EXPECT_THAT(tried(all), ElementsAre("gpu-only", "layer", "rows", "sequence", "staggered", "tensor"));
  EXPECT_THAT(tried(std::vector{testing::fake_gpu()}), ElementsAre("gpu-only"));
  EXPECT_THAT(tried(std::vector{testing::fake_npu()}), ElementsAre()) << "nobody is there to cut rows with";
  EXPECT_THAT(tried(std::vector{testing::fake_npu(), testing::fake_host()}),
              ElementsAre("host-only", "layer", "rows", "staggered", "tensor"));
  std::vector<DeviceTraits> apart = all;
  apart[0].zero_copy = false;
  EXPECT_THAT(tried(apart), ElementsAre("gpu-only", "layer", "rows", "staggered", "tensor"));
}

TEST(FindStrategy, has_every_plan_once_in_the_order_of_their_names) {
  std::vector<std::string> names;
  for (const Strategy& strategy : strategies()) names.emplace_back(strategy.name);
  EXPECT_THAT(names, ElementsAre("chunked", "gpu-ndp", "gpu-only", "host-only", "hybrimoe", "layer", "moe-cpu",
                                 "moe-dense-only", "moe-fiddler", "moe-fixed", "moe-fixed-transfer", "moe-layer-split",
                                 "moe-lru", "moe-naive", "moe-on-demand", "moe-schedule", "ndp-fiddler", "ndp-monde",
                                 "ndp-on-demand", "ndp-tp", "ndp-tp-lb", "ndp-tp-pre", "npu-only", "npumoe",
                                 "npumoe-base", "npumoe-t", "npumoe-tg", "online", "padding", "pipe", "rows",
                                 "sequence", "staggered", "tensor"));
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
