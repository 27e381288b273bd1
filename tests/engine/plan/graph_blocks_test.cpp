#include "engine/plan/graph_blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/plan/schedule.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;

TEST(GraphBlocks, have_about_five_layers_and_are_four_where_there_are_fewer_layers) {
  EXPECT_THAT(graph_blocks(1), ElementsAre(0, 1));
  EXPECT_THAT(graph_blocks(3), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(graph_blocks(9), ElementsAre(0, 2, 4, 6, 9));
  EXPECT_THAT(graph_blocks(24), ElementsAre(0, 6, 12, 18, 24));
  EXPECT_THAT(graph_blocks(30), ElementsAre(0, 5, 10, 15, 20, 25, 30));
  for (int64_t layers = 1; layers < 130; ++layers) {
    const auto blocks = graph_blocks(layers);
    EXPECT_EQ(blocks.front(), 0);
    EXPECT_EQ(blocks.back(), layers);
    for (size_t b = 0; b + 1 < blocks.size(); ++b) {
      EXPECT_GT(blocks[b + 1], blocks[b]);
      EXPECT_LE(blocks[b + 1] - blocks[b], 7);
    }
  }
}

// A plan of an embedding, a product on the NPU for each of four layers, an addition on the host, and a product behind
// the layers.
class Fragments : public ::testing::Test {
 protected:
  static constexpr int64_t kTokens = 200;

  Fragments() {
    placed_.push_back(
        {1, {"embed", Embed{kTokens, 64, {packed_format(StorageType::f16), 64, 64, slot()}, slot(), x_}}});
    for (int64_t layer = 0; layer < 4; ++layer) {
      const std::string prefix = "blk." + std::to_string(layer) + ".";
      placed_.push_back({0, {prefix + "product", product(kTokens), layer}});
      placed_.push_back({1, {prefix + "add", Add{kTokens, 64, x_, y_, 64, 64}, layer}});
    }
    placed_.push_back({0, {"output", product(1)}});
  }
  Operand slot() { return {&pool_.acquire(kTokens * 64 * 4, sync::SlotUse::activations, "m"), 0}; }
  MatMul product(int64_t tokens) {
    MatMul op;
    op.S = tokens;
    op.K = op.x_stride = op.y_stride = op.row_end = 64;
    op.w = {packed_format(StorageType::f16), 64, 64, slot()};
    op.x = x_, op.y = y_;
    return op;
  }
  Plan whole() const { return schedule("whole", {"npu:0", "host"}, placed_); }
  Plan fragment(GraphId id, std::vector<int64_t> sizes = {1, 2, 4, 8, 16, 32, 64, 128}) const {
    return fragment_of(whole(), graph_blocks(4), id, {true, false}, sizes,
                       [this](const Operand& weight, GraphKind kind) {
                         return kind == GraphKind::decode ? Operand{&decode_, weight.offset_bytes} : weight;
                       });
  }
  static std::vector<std::string> names(const Plan& plan) {
    std::vector<std::string> names;
    for (const Step& step : plan.steps)
      for (const Operator& op : step.operators) names.push_back(op.name);
    return names;
  }
  static std::vector<int64_t> product_tokens(const Plan& plan) {
    std::vector<int64_t> tokens;
    for (const Step& step : plan.steps)
      for (const Operator& op : step.operators)
        if (std::holds_alternative<MatMul>(op.body)) tokens.push_back(tokens_of(op));
    return tokens;
  }

  sync::Pool pool_;
  const sync::Slot& decode_ = pool_.acquire(64 * 64 * 4, sync::SlotUse::weights, "decode");
  const Operand x_ = slot(), y_ = slot();
  std::vector<Placed> placed_;
};

TEST_F(Fragments, have_the_operators_of_their_layers_and_the_outer_ones_what_lies_outside) {
  EXPECT_THAT(names(fragment({0, GraphKind::prefill})), ElementsAre("embed", "blk.0.product", "blk.0.add"));
  EXPECT_THAT(names(fragment({1, GraphKind::prefill})), ElementsAre("blk.1.product", "blk.1.add"));
  EXPECT_THAT(names(fragment({3, GraphKind::prefill})), ElementsAre("blk.3.product", "blk.3.add", "output"));
}

// Two halves of a prompt may run some layers apart.
TEST_F(Fragments, keep_layers_together_that_a_plan_runs_some_stages_apart) {
  std::swap(placed_[4], placed_[5]);  // an addition behind the next layer's product
  EXPECT_THAT(names(fragment({1, GraphKind::prefill})), ElementsAre("blk.1.product", "blk.1.add"));
  EXPECT_THAT(names(fragment({2, GraphKind::prefill})), ElementsAre("blk.2.product", "blk.2.add"));
}

TEST_F(Fragments, of_a_decode_graph_multiply_at_most_its_tokens_at_a_time) {
  EXPECT_THAT(product_tokens(fragment({1, GraphKind::prefill})), ElementsAre(kTokens));
  EXPECT_THAT(product_tokens(fragment({1, GraphKind::decode})), ElementsAre(64, 64, 64, 8));
  EXPECT_THAT(product_tokens(fragment({3, GraphKind::decode})), ElementsAre(64, 64, 64, 8, 1));
  EXPECT_THAT(product_tokens(fragment({1, GraphKind::decode}, {32, 128})), ElementsAre(32, 32, 32, 32, 32, 32, 8));
  EXPECT_THAT(product_tokens(fragment({1, GraphKind::decode}, {})), ElementsAre(64, 64, 64, 8));
}

TEST_F(Fragments, read_the_weights_of_their_graph) {
  for (const GraphKind kind : {GraphKind::prefill, GraphKind::decode}) {
    for (const Step& step : fragment({2, kind}).steps)
      for (const Operator& op : step.operators)
        if (const auto* matmul = std::get_if<MatMul>(&op.body)) {
          EXPECT_EQ(matmul->w.data.slot == &decode_, kind == GraphKind::decode) << op.name;
        }
  }
}

TEST_F(Fragments, are_for_plans_with_steps_on_a_device_that_runs_graphs) {
  EXPECT_TRUE(uses_graphs(whole(), {true, false}));
  EXPECT_FALSE(uses_graphs(whole(), {false, false}));
  placed_.resize(1);
  EXPECT_FALSE(uses_graphs(whole(), {true, false}));
}

}  // namespace
}  // namespace tandem
