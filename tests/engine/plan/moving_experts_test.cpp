// Plans of models whose experts move: the host fetches, waves wait for each other, and batches are not cut by tokens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "engine/graph/decoder.h"
#include "engine/model/shapes.h"
#include "engine/plan/placer.h"
#include "engine/plan/schedule.h"
#include "tests/support/message_of.h"

namespace tandem {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Two layers of eight experts, two for each token, with three slots each. Nothing can run.
class MovingExpertsPlan : public ::testing::Test {
 protected:
  static constexpr int64_t kSlots = 3;
  static constexpr size_t kSlotBytes = 1 << 14;

  MovingExpertsPlan() {
    for (LayerWeights& layer : model_.weights.layers) {
      const Operand slots{&pool_.acquire(kSlots * kSlotBytes, sync::SlotUse::activations, "slots"), 0};
      MovingExperts moving;
      moving.slots = kSlots, moving.slot_bytes = kSlotBytes;
      moving.experts = slots;
      model_.weights.moving.push_back(moving);
      size_t offset = 0;
      for (MatrixStack* stack : {&layer.expert_gate_up, &layer.expert_down})
        for (StackPart& part : stack->parts) {
          const size_t bytes = part.stack.matrix_bytes();
          part.stack.count = kSlots;
          part.stack.data = slots.advanced(offset);
          part.stack.pitch_bytes = kSlotBytes;
          offset += bytes;
        }
      EXPECT_LE(offset, kSlotBytes);
    }
  }
  std::vector<Operator> operators(int64_t S) const { return build_decoder(model_, buffers_, {S, 1}, {}); }
  static bool fetches(const Operator& op) { return std::holds_alternative<ExpertFetch>(op.body); }
  // A device that refuses fetches, and one that takes them.
  static std::vector<DeviceTraits> devices() {
    std::vector<DeviceTraits> all(2);
    all[0].id = "gpu", all[0].zero_copy = true;
    all[1].id = "host", all[1].zero_copy = true;
    all[0].supports = [](const Operator& op) { return fetches(op) ? Support{false, "no"} : Support{}; };
    all[1].supports = [](const Operator&) { return Support{}; };
    return all;
  }
  Plan plan(int64_t S) const {
    const std::vector<Operator> all = operators(S);
    const std::vector<DeviceTraits> traits = devices();
    const PlanRequest request{all, traits, {}};
    Placer placer(request);
    for (const Operator& op : all) placer.place_quietly(op, 0);
    return placer.finish("test");
  }

  sync::Pool pool_;
  Model model_ = shape_only_model(
      parse_shape(R"({"schema": 1, "architecture": "qwen2moe", "layers": 2, "hidden": 64, "feed_forward": 96,
                      "heads": 4, "vocabulary": 512, "experts": 8, "experts_used": 2, "expert_feed_forward": 32})",
                  "test"),
      packed_format(StorageType::q4_0));
  ActivationSizes sizes_{32, 32, 64, 64, KvType::f16};
  Activations buffers_{model_.config, [this] { return sizes_.experts_move = true, sizes_; }(), &pool_};
};

TEST_F(MovingExpertsPlan, fetches_once_for_a_token_and_in_waves_for_a_prompt) {
  const auto count = [&](int64_t S) { return std::ranges::count_if(operators(S), fetches); };
  EXPECT_EQ(count(1), 2) << "one wave in each layer: two experts, three slots";
  // Eight experts: two in the first wave, then six turns of one slot. One token goes through the last layer.
  EXPECT_EQ(count(20), 7 + 1);
  // Two tokens choose four experts at most: two in the first wave, then two turns.
  EXPECT_EQ(count(2), 3 + 1);
}

TEST_F(MovingExpertsPlan, lets_the_host_fetch_wherever_the_products_run) {
  for (const Step& step : plan(20).steps)
    for (const Operator& op : step.operators) EXPECT_EQ(step.device, fetches(op) ? 1 : 0) << op.name;
}

// A fetch overwrites slots, so it waits for the products of the wave before it. Products wait for their own fetch.
TEST_F(MovingExpertsPlan, makes_each_wave_wait_for_the_one_before_it) {
  const Plan made = plan(20);
  // The last operator of a device that each step knows to have ended, by the steps that it waits for.
  int64_t waves = 0;
  std::string down;  // the last product of the layer so far
  for (size_t i = 0; i < made.steps.size(); ++i) {
    const Step& step = made.steps[i];
    for (size_t at = 0; at < step.operators.size(); ++at) {
      const Operator& op = step.operators[at];
      if (fetches(op) && std::get<ExpertFetch>(op.body).wave > 0) {
        ++waves;
        ASSERT_EQ(at, 0u) << "a wait begins a step";
        ASSERT_EQ(step.waits.size(), 1u);
        EXPECT_EQ(made.steps[static_cast<size_t>(step.waits[0])].operators.back().name, down);
      }
      if (op.name.find("ffn_gate_up_exps") != std::string::npos) {
        ASSERT_EQ(at, 0u);
        ASSERT_EQ(step.waits.size(), 1u);
        EXPECT_TRUE(fetches(made.steps[static_cast<size_t>(step.waits[0])].operators.back()));
      }
      if (op.name.find("ffn_down_exps") != std::string::npos) down = op.name;
    }
  }
  EXPECT_EQ(waves, 6);
}

TEST_F(MovingExpertsPlan, cuts_no_batch_by_tokens) { EXPECT_THAT(whole_batch(operators(32)), IsEmpty()); }

TEST_F(MovingExpertsPlan, names_the_operator_that_no_device_runs) {
  const std::vector<Operator> all = operators(1);
  const std::vector<DeviceTraits> alone = {devices()[0]};
  const PlanRequest request{all, alone, {}};
  Placer placer(request);
  const auto fetch = std::ranges::find_if(all, fetches);
  EXPECT_THAT(test::message_of([&] { placer.place_quietly(*fetch, 0); }), HasSubstr("blk.0.ffn_fetch_exps: gpu"));
}

}  // namespace
}  // namespace tandem
