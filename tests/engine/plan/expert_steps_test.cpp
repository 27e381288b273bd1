// The steps of NPUMoE for a layer, on devices whose times can be worked out on paper.
#include "engine/plan/expert_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/graph/decoder.h"
#include "engine/model/shapes.h"
#include "engine/plan/strategy.h"
#include "tests/engine/plan/fake_devices.h"

namespace tandem::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kTokens = 64;

// With eight experts, two for each token, the mean load is 16. The tiers have 32, 16 and 16 rows.
struct Mixture {
  explicit Mixture(StorageType type = StorageType::q4_0)
      : model(shape_only_model(
            parse_shape(R"({"schema": 1, "architecture": "qwen2moe", "layers": 2, "hidden": 64, "feed_forward": 96,
                            "heads": 4, "vocabulary": 512, "experts": 8, "experts_used": 2, "expert_feed_forward": 32,
                            "shared_feed_forward": 128})",
                        "test"),
            packed_format(type))),
        buffers(model.config, sizes(), &pool),
        operators(build_decoder(model, buffers, {kTokens, 1}, {true})) {
    experts.buffers = buffers.expert_rows, experts.rows = buffers.sizes.expert_rows;
    experts.attention_output = buffers.projected;
    experts.rules.groups.largest_group = 4;
  }

  static ActivationSizes sizes() {
    ActivationSizes sizes{kTokens, kTokens, 64, 64, KvType::f16};
    sizes.expert_rows = most_slots(8, 2, kTokens, naive_rules({}));
    return sizes;
  }

  Plan plan(const char* strategy, std::vector<DeviceTraits> devices) const {
    PlanRequest request{operators, devices, {}, false};
    request.experts = &experts;
    return find_strategy(strategy).make(request);
  }
  Plan plan(const char* strategy) const { return plan(strategy, {fake_gpu(), fake_npu(), fake_host("npu:0")}); }

  sync::Pool pool;
  Model model;
  Activations buffers;
  std::vector<Operator> operators;
  ExpertRequest experts;
};

// The names of the operators of layer 0's experts that a device runs.
std::vector<std::string> experts_on(const Plan& plan, int device) {
  std::vector<std::string> names;
  for (const Step& step : plan.steps) {
    for (const Operator& op : step.operators) {
      const bool of_experts =
          op.name.find("_exps") != std::string::npos || op.name.find("expert_") != std::string::npos;
      if (step.device == device && op.layer == 0 && of_experts) names.push_back(op.name.substr(6));
    }
  }
  return names;
}

const Operator& find(const Plan& plan, const std::string& name) {
  for (const Step& step : plan.steps) {
    for (const Operator& op : step.operators)
      if (op.name == name) return op;
  }
  throw std::runtime_error("no operator " + name);
}

TEST(ExpertSteps, gather_multiply_and_add_beside_the_gpu) {
  const Mixture mixture;
  const Plan plan = mixture.plan("npumoe");
  EXPECT_THAT(experts_on(plan, 2), ElementsAre("expert_slots", "expert_gather", "swiglu_exps.rows", "expert_sum"));
  EXPECT_THAT(experts_on(plan, 0), ElementsAre("ffn_gate_up_exps", "swiglu_exps", "ffn_down_exps"));
  // Without costs every group is resident. Experts 0 and 1 are the popular quarter of equal loads.
  EXPECT_THAT(experts_on(plan, 1), Contains("ffn_gate_up_exps.g0").Times(2));
  EXPECT_THAT(experts_on(plan, 1), Contains("ffn_down_exps.g1").Times(4));
  EXPECT_THAT(experts_on(plan, 1), Contains("ffn_down_exps.g2").Times(2));
  ASSERT_EQ(plan.experts.size(), 1u) << "the last layer has one token, which needs no graphs";
  EXPECT_EQ(plan.experts[0].placement.capacities, (std::vector<int64_t>{32, 32, 16, 16, 16, 16, 16, 16}));
}

TEST(ExpertSteps, give_each_expert_its_rows) {
  const Mixture mixture;
  const Plan plan = mixture.plan("npumoe");
  const auto& slots = std::get<ExpertSlots>(find(plan, "blk.0.expert_slots").body);
  EXPECT_EQ(slots.rows, 2 * 32 + 6 * 16);
  EXPECT_EQ(slots.experts[1], (ExpertRows{32, 32}));
  EXPECT_EQ(slots.experts[3], (ExpertRows{80, 16}));
  EXPECT_FALSE(slots.x) << "what spills is not chosen by saliency";
  const auto& sum = std::get<ExpertSum>(find(plan, "blk.0.expert_sum").body);
  EXPECT_EQ(sum.rows, slots.rows);
  EXPECT_EQ(sum.row_of, slots.row_of);
  EXPECT_EQ(sum.slots, mixture.buffers.expert_rows.found);
  const auto& rest = std::get<GroupedMatMul>(find(plan, "blk.0.ffn_down_exps").body);
  EXPECT_EQ(rest.lists, slots.lists);
  EXPECT_DOUBLE_EQ(rest.share, 0) << "every expected choice has a row";
  std::vector<const MatMul*> up;
  for (const Step& step : plan.steps) {
    for (const Operator& op : step.operators)
      if (op.name == "blk.0.ffn_gate_up_exps.g1") up.push_back(&std::get<MatMul>(op.body));
  }
  ASSERT_EQ(up.size(), 4u);
  EXPECT_EQ(up[1]->S, 16);
  EXPECT_EQ(up[1]->x.offset_bytes - mixture.buffers.expert_rows.gathered.offset_bytes, 80u * 64 * 4);
  EXPECT_EQ(up[1]->y.offset_bytes - mixture.buffers.expert_rows.gate_up.offset_bytes, 80u * 64 * 4);
}

// N9: the devices that run the experts in the baselines.
TEST(ExpertSteps, of_the_baselines_differ_in_their_groups) {
  const Mixture mixture;
  const Plan naive = mixture.plan("moe-naive"), base = mixture.plan("npumoe-base"), tiers = mixture.plan("npumoe-t"),
             groups = mixture.plan("npumoe-tg");
  EXPECT_THAT(experts_on(naive, 0), ElementsAre()) << "there is room for every token: nothing can be left for the GPU";
  EXPECT_EQ(naive.experts[0].placement.slots(), 8 * kTokens);
  EXPECT_EQ(base.experts[0].placement.slots(), 8 * 32);
  EXPECT_EQ(base.experts[0].placement.resident.size(), 8u);
  EXPECT_EQ(tiers.experts[0].placement.slots(), 160);
  EXPECT_EQ(tiers.experts[0].placement.resident.size(), 8u);
  EXPECT_EQ(groups.experts[0].placement.resident.size(), 3u);
  const Plan dense = mixture.plan("moe-dense-only");
  EXPECT_THAT(experts_on(dense, 0), Contains("ffn_gate_up_exps"));
  EXPECT_THAT(experts_on(dense, 1), ElementsAre());
  for (const Step& step : naive.steps) {
    for (const Operator& op : step.operators) EXPECT_TRUE(step.device != 1 || op.name.find("_exps") != op.name.npos);
  }
}

TEST(ExpertSteps, follow_what_was_counted) {
  Mixture mixture;
  RoutingCounts counts = empty_counts(8, 2, {0, 1});
  counts.tokens = 8;
  counts.counts[0] = {0, 0, 0, 0, 0, 2, 6, 8};
  mixture.experts.counts = &counts;
  const Plan plan = mixture.plan("npumoe");
  // 64, 48 and 16 tokens are expected at the last three experts. Two of them have 32 rows.
  EXPECT_EQ(plan.experts[0].placement.capacities, (std::vector<int64_t>{16, 16, 16, 16, 16, 16, 32, 32}));
  EXPECT_DOUBLE_EQ(plan.experts[0].placement.expected_elsewhere, (32.0 + 16) / 128);
  EXPECT_DOUBLE_EQ(std::get<GroupedMatMul>(find(plan, "blk.0.ffn_down_exps").body).share, 48.0 / 128);
}

TEST(ExpertSteps, of_dropping_choose_by_what_attention_found) {
  Mixture mixture;
  mixture.experts.rules.overflow = Overflow::drop;
  const Plan plan = mixture.plan("npumoe");
  const auto& slots = std::get<ExpertSlots>(find(plan, "blk.0.expert_slots").body);
  EXPECT_EQ(slots.x, mixture.buffers.projected);
  EXPECT_EQ(slots.width, 64);
  EXPECT_THAT(experts_on(plan, 0), ElementsAre()) << "every expert has rows, and what is beyond them is dropped";
}

TEST(ExpertSteps, cut_what_is_larger_than_the_largest_graph) {
  const Mixture mixture;
  const Plan plan = mixture.plan("npumoe", {fake_gpu(), fake_npu({8, 16}), fake_host("npu:0")});
  EXPECT_THAT(experts_on(plan, 1), Contains("ffn_gate_up_exps.g0").Times(2 * 2)) << "32 rows are two graphs of 16";
  EXPECT_THAT(experts_on(plan, 1), Contains("ffn_gate_up_exps.g1").Times(4));
}

TEST(ExpertSteps, are_left_out_with_a_reason) {
  const Mixture mixture;
  const auto reason = [](const Plan& plan) { return plan.notes.empty() ? std::string() : plan.notes.front(); };
  EXPECT_THAT(reason(mixture.plan("npumoe", {fake_gpu(), fake_npu({64})})), HasSubstr("graph of 16 tokens"));
  DeviceTraits gpu = fake_gpu();
  gpu.supports = [](const Operator& op) {
    return std::holds_alternative<GatherRows>(op.body) ? Support{false, "no kernel"} : Support{};
  };
  EXPECT_THAT(reason(mixture.plan("npumoe", {gpu, fake_npu()})), HasSubstr("no device gathers"));
  EXPECT_THAT(reason(Mixture(StorageType::f32).plan("npumoe")), HasSubstr("would round"));
  // A factor or a bias of experts is no part of the NPU's graphs.
  const auto with = [&](auto end) {
    Mixture other;
    end.chosen = true, end.S = kTokens, end.rows = 2, end.width = 32;
    const auto up = std::ranges::find(other.operators, "blk.0.ffn_gate_up_exps", &Operator::name);
    other.operators.insert(up + 1, {"blk.0.end", end, 0});
    return reason(other.plan("npumoe"));
  };
  EXPECT_THAT(with(Scale()), HasSubstr("compute no factors of experts"));
  EXPECT_THAT(with(Bias()), HasSubstr("compute no biases of experts"));
}

}  // namespace
}  // namespace tandem::testing
