// The steps of GPU-NDP for a layer: who computes which rows and columns, and what waits for what (G2, G5).
#include "engine/plan/near_memory_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/graph/decoder.h"
#include "engine/model/shapes.h"
#include "engine/plan/strategy.h"
#include "tests/engine/plan/fake_devices.h"
#include "tests/support/message_of.h"

namespace tandem::testing {
namespace {

using test::message_of;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

DeviceTraits fake_unit(int number) {
  DeviceTraits unit{
      .id = "ndp:" + std::to_string(number), .supports = [](const Operator& op) {
        return Support{std::holds_alternative<GroupedMatMul>(op.body) || std::holds_alternative<Glu>(op.body), "no"};
      }};
  unit.near_memory.memory_bytes = 1 << 30;
  if (number > 0) unit.thread_of = "ndp:0";
  return unit;
}

// A GPU that neither divides experts nor adds the results of two sides.
DeviceTraits gpu_of_units() {
  DeviceTraits gpu = fake_gpu();
  gpu.supports = [](const Operator& op) { return Support{!features_of(op).has(Feature::capacities), "no"}; };
  return gpu;
}

// Experts have 128 features, so two units have 64 each.
struct MixtureOfUnits {
  explicit MixtureOfUnits(int64_t S = 32, int64_t partials = 1)
      : model(shape_only_model(
            parse_shape(R"({"schema": 1, "architecture": "llama", "layers": 2, "hidden": 192, "feed_forward": 96,
                            "heads": 4, "vocabulary": 512, "experts": 8, "experts_used": 2,
                            "expert_feed_forward": 128})",
                        "test"),
            packed_format(StorageType::q4_0))),
        buffers(model.config, sizes(partials), &pool),
        operators(build_decoder(model, buffers, {S, 1}, {true})),
        units{buffers.units, nullptr, UnitSplit::outer} {}

  static ActivationSizes sizes(int64_t partials) {
    ActivationSizes sizes{32, 32, 64, 64, KvType::f16};
    sizes.expert_sides = 3, sizes.expert_partials = partials;
    return sizes;
  }
  Plan plan(const char* strategy, std::vector<DeviceTraits> devices) const {
    PlanRequest request{operators, devices, {}, false};
    request.units = &units;
    return find_strategy(strategy).make(request);
  }
  Plan plan(const char* strategy) const {
    return plan(strategy, {gpu_of_units(), fake_unit(0), fake_unit(1), fake_host("ndp:0")});
  }

  sync::Pool pool;
  Model model;
  Activations buffers;
  std::vector<Operator> operators;
  UnitRequest units;
};

// The names of the operators of layer 0's experts on a device.
std::vector<std::string> of_experts_on(const Plan& plan, int device) {
  std::vector<std::string> names;
  for (const Step& step : plan.steps)
    for (const Operator& op : step.operators)
      if (step.device == device && op.layer == 0 &&
          (op.name.find("_exps") != std::string::npos || op.name.find("expert_") != std::string::npos))
        names.push_back(op.name.substr(6));
  return names;
}

const Operator& operator_of(const Plan& plan, int device, const std::string& name, int turn = 0) {
  for (const Step& step : plan.steps)
    for (const Operator& op : step.operators)
      if (step.device == device && op.name == name && turn-- == 0) return op;
  throw std::runtime_error("no operator " + name);
}

TEST(NearMemorySteps, share_every_expert_between_the_units_beside_the_gpu) {
  const MixtureOfUnits mixture;
  const Plan plan = mixture.plan("gpu-ndp");
  EXPECT_THAT(of_experts_on(plan, 0), ElementsAre("ffn_gate_up_exps", "swiglu_exps", "ffn_down_exps"));
  EXPECT_THAT(of_experts_on(plan, 1),
              ElementsAre("ffn_gate_up_exps.u0", "ffn_gate_up_exps.u0", "swiglu_exps.u0", "ffn_down_exps.u0"));
  EXPECT_THAT(of_experts_on(plan, 2),
              ElementsAre("ffn_gate_up_exps.u1", "ffn_gate_up_exps.u1", "swiglu_exps.u1", "ffn_down_exps.u1"));
  EXPECT_THAT(of_experts_on(plan, 3), ElementsAre("expert_sides", "expert_sum"));
}

// H = 192 is three panels: two for the first unit. Gate rows come first, then up rows.
TEST(NearMemorySteps, give_units_rows_of_gate_up_and_down) {
  const MixtureOfUnits mixture;
  const Plan plan = mixture.plan("ndp-tp");
  const UnitBuffers& buffers = mixture.buffers.units;
  const auto product = [&](int device, const std::string& name, int turn) -> const GroupedMatMul& {
    return std::get<GroupedMatMul>(operator_of(plan, device, "blk.0." + name, turn).body);
  };
  const auto column = [&](const Operand& at, const Operand& buffer) {
    EXPECT_EQ(at.slot, buffer.slot);
    return (at.offset_bytes - buffer.offset_bytes) / sizeof(float);
  };
  EXPECT_EQ(column(product(1, "ffn_gate_up_exps.u0", 0).y, buffers.gate_up), 0u);
  EXPECT_EQ(column(product(1, "ffn_gate_up_exps.u0", 1).y, buffers.gate_up), 128u);
  EXPECT_EQ(column(product(2, "ffn_gate_up_exps.u1", 0).y, buffers.gate_up), 64u);
  EXPECT_EQ(column(product(2, "ffn_gate_up_exps.u1", 1).y, buffers.gate_up), 192u);
  for (int turn : {0, 1}) EXPECT_EQ(product(2, "ffn_gate_up_exps.u1", turn).w.rows, 64);
  EXPECT_EQ(product(1, "ffn_down_exps.u0", 0).w.rows, 128);
  EXPECT_EQ(product(2, "ffn_down_exps.u1", 0).w.rows, 64);
  EXPECT_EQ(column(product(2, "ffn_down_exps.u1", 0).y, buffers.found), 128u);
  EXPECT_EQ(product(2, "ffn_down_exps.u1", 0).column_count, 0);
  const Glu& glu = std::get<Glu>(operator_of(plan, 2, "blk.0.swiglu_exps.u1").body);
  EXPECT_EQ(glu.I, 64);
  EXPECT_EQ(column(glu.gate, buffers.gate_up), 64u);
  EXPECT_EQ(column(glu.up, buffers.gate_up), 192u);
  EXPECT_EQ(column(glu.y, buffers.activated), 64u);
  // Each side has choices and lists of its own, and the sum finds both.
  const GroupedMatMul& on_gpu = product(0, "ffn_gate_up_exps", 0);
  EXPECT_EQ(on_gpu.ids, buffers.ids);
  EXPECT_EQ(product(1, "ffn_down_exps.u0", 0).ids, buffers.ids.advanced(buffers.side_ids_bytes));
  EXPECT_TRUE(on_gpu.listed_only && product(1, "ffn_down_exps.u0", 0).listed_only);
  const auto& sum = std::get<ExpertSum>(operator_of(plan, 3, "blk.0.expert_sum").body);
  EXPECT_EQ(sum.row_of, buffers.row_of);
  EXPECT_EQ(sum.slots, buffers.found);
  EXPECT_EQ(sum.rows, 32 * 2);
}

TEST(NearMemorySteps, with_inner_cuts_give_units_columns_of_down_and_add_in_their_order) {
  MixtureOfUnits mixture;
  mixture.units.split = UnitSplit::inner;
  const Plan plan = mixture.plan("ndp-tp");
  const auto down = [&](int device, const char* name) {
    return std::get<GroupedMatMul>(operator_of(plan, device, name).body);
  };
  const GroupedMatMul first = down(1, "blk.0.ffn_down_exps.u0"), second = down(2, "blk.0.ffn_down_exps.u1");
  EXPECT_EQ(std::pair(first.column_begin, first.column_count), std::pair(int64_t{0}, int64_t{64}));
  EXPECT_EQ(std::pair(second.column_begin, second.column_count), std::pair(int64_t{64}, int64_t{64}));
  EXPECT_EQ(second.w.rows, 192);
  EXPECT_EQ(first.y, mixture.buffers.units.found);
  EXPECT_EQ(second.y, mixture.buffers.units.partials[0]);
  const auto& add = std::get<Add>(operator_of(plan, 0, "blk.0.ffn_down_exps.add1").body);
  EXPECT_EQ(add.x, first.y);
  EXPECT_EQ(add.y, second.y);
  EXPECT_EQ(add.S, 32 * 2);
}

TEST(NearMemorySteps, wait_for_the_sides_and_not_for_each_other_in_front_of_down) {
  const MixtureOfUnits mixture;
  const Plan plan = mixture.plan("gpu-ndp");
  const auto step_of = [&](const std::string& name) {
    for (size_t s = 0; s < plan.steps.size(); ++s)
      for (const Operator& op : plan.steps[s].operators)
        if (op.name == name) return static_cast<int>(s);
    return -1;
  };
  const int sides = step_of("blk.0.expert_sides"), second = step_of("blk.0.ffn_gate_up_exps.u1");
  EXPECT_THAT(plan.steps[static_cast<size_t>(second)].waits, Contains(sides));
  for (const int wait : plan.steps[static_cast<size_t>(second)].waits)
    EXPECT_NE(plan.steps[static_cast<size_t>(wait)].device, 1) << "units multiply beside each other";
  const int down = step_of("blk.0.ffn_down_exps.u1");
  EXPECT_THAT(plan.steps[static_cast<size_t>(down)].waits, Contains(step_of("blk.0.swiglu_exps.u0")))
      << "outer cuts exchange activations";
}

TEST(NearMemorySteps, of_the_baselines_leave_whole_experts_to_one_device) {
  const MixtureOfUnits mixture;
  const Plan monde = mixture.plan("ndp-monde"), fiddler = mixture.plan("ndp-fiddler"),
             on_demand = mixture.plan("ndp-on-demand");
  const auto& down = std::get<GroupedMatMul>(operator_of(monde, 2, "blk.0.ffn_down_exps.u1").body);
  EXPECT_EQ(down.w.rows, 192);
  EXPECT_EQ(down.ids, mixture.buffers.units.ids.advanced(2 * mixture.buffers.units.side_ids_bytes));
  EXPECT_EQ(std::get<ExpertSides>(operator_of(monde, 3, "blk.0.expert_sides").body).sides, 3);
  EXPECT_THAT(of_experts_on(fiddler, 3), Contains("ffn_down_exps.host"));
  EXPECT_THAT(of_experts_on(fiddler, 1), IsEmpty());
  EXPECT_THAT(of_experts_on(on_demand, 3), ElementsAre("expert_sides", "expert_sum"));
}

TEST(NearMemorySteps, do_without_lists_for_few_tokens) {
  const MixtureOfUnits mixture(1);
  const Plan plan = mixture.plan("gpu-ndp");
  EXPECT_THAT(of_experts_on(plan, 3), ElementsAre("expert_sides", "expert_sum"));
  EXPECT_TRUE(std::get<GroupedMatMul>(operator_of(plan, 0, "blk.0.ffn_down_exps").body).listed_only);
}

TEST(NearMemorySteps, refuse_what_cannot_run_by_name) {
  const MixtureOfUnits mixture;
  EXPECT_THAT(message_of([&] {
                mixture.plan("gpu-ndp", {gpu_of_units(), fake_host()});
              }),
              HasSubstr("needs near-memory units"));
  EXPECT_THAT(message_of([&] {
                mixture.plan("gpu-ndp", {gpu_of_units(), fake_unit(0)});
              }),
              HasSubstr("no device divides the experts"));
  EXPECT_THAT(message_of([&] { mixture.plan("gpu-ndp", {fake_unit(0)}); }), HasSubstr("a GPU or the host"));
  DeviceTraits small = fake_unit(0);
  small.near_memory.memory_bytes = 1000;
  EXPECT_THAT(message_of([&] {
                mixture.plan("ndp-tp", {gpu_of_units(), small, fake_host()});
              }),
              HasSubstr("Not supported"));
}

TEST(NearMemorySteps, leave_units_out_of_every_other_plan) {
  const MixtureOfUnits mixture;
  for (const char* name : {"gpu-only", "host-only", "layer", "tensor", "rows"}) {
    const Plan plan = mixture.plan(name, {gpu_of_units(), fake_unit(0), fake_npu(), fake_host("ndp:0")});
    for (const Step& step : plan.steps) EXPECT_NE(step.device, 1) << name;
  }
}

TEST(PartsOfUnits, are_whole_blocks_as_even_as_possible) {
  using Parts = std::vector<UnitRange>;
  EXPECT_EQ(parts_of_units(192, 64, 2), (Parts{{0, 128}, {128, 192}}));
  EXPECT_EQ(parts_of_units(200, 64, 3), (Parts{{0, 128}, {128, 192}, {192, 200}}));
  EXPECT_EQ(parts_of_units(96, 64, 4), (Parts{{0, 64}, {64, 96}, {96, 96}, {96, 96}}));
  EXPECT_EQ(parts_of_units(512, 256, 1), (Parts{{0, 512}}));
}

}  // namespace
}  // namespace tandem::testing
