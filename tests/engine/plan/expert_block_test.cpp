// The operators of a layer's experts, found from its routing or from its lists.
#include "engine/plan/expert_block.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

Operator product(const char* name, int64_t rows, int64_t columns, size_t pitch_bytes) {
  GroupedMatMul op;
  op.routed = true;
  op.w.format = packed_format(StorageType::f16);
  op.w.count = 8, op.w.rows = rows, op.w.columns = columns, op.w.pitch_bytes = pitch_bytes;
  return {name, op};
}

// Matrices of 64 x 32 and 32 x 64 halves. In records of a packed file they lie 16 KiB apart.
TEST(ExpertBlock, counts_the_bytes_of_its_matrices_whatever_lies_between_them) {
  for (const size_t pitch : {size_t{0}, size_t{16384}}) {
    const std::vector<Operator> operators = {
        {"route", Route{}}, {"lists", ExpertLists{}},       product("up", 64, 32, pitch),
        {"unit", Glu{}},    product("down", 64, 32, pitch), {"sum", ExpertSum{}}};
    EXPECT_EQ(expert_block_at(operators).expert_bytes(), 2 * 64 * 32 * 2) << pitch;
  }
}

TEST(ExpertBlock, begins_with_a_routing_or_with_lists_and_ends_with_the_sum) {
  const std::vector<Operator> operators = {{"route", Route{}}, {"lists", ExpertLists{}},   product("up", 64, 32, 0),
                                           {"unit", Glu{}},    product("down", 64, 32, 0), {"sum", ExpertSum{}},
                                           {"other", Glu{}}};
  const ExpertBlock whole = expert_block_at(operators), listed = expert_block_at(std::span(operators).subspan(1));
  EXPECT_EQ(whole.route, &operators[0]);
  EXPECT_EQ(listed.route, nullptr);
  for (const ExpertBlock* block : {&whole, &listed}) {
    EXPECT_EQ(block->lists, &operators[1]);
    EXPECT_EQ(block->up, std::vector{&operators[2]});
    EXPECT_EQ(block->unit, &operators[3]);
    EXPECT_EQ(block->down, std::vector{&operators[4]});
    EXPECT_EQ(block->sum, &operators[5]);
  }
}

TEST(ExpertBlock, of_experts_that_move_has_the_products_of_the_first_fetch) {
  ExpertFetch later;
  later.wave = 1;
  const std::vector<Operator> operators = {
      {"fetch", ExpertFetch{}},   product("up", 64, 32, 0),         {"unit", Glu{}},
      product("down", 64, 32, 0), {"fetch_wave1", later},           product("up_wave1", 64, 32, 0),
      {"unit_wave1", Glu{}},      product("down_wave1", 64, 32, 0), {"sum", ExpertSum{}}};
  const ExpertBlock block = expert_block_at(operators);
  EXPECT_EQ(block.fetch, &operators[0]);
  EXPECT_EQ(block.up, std::vector{&operators[1]});
  EXPECT_EQ(block.unit, &operators[2]);
  EXPECT_EQ(block.down, std::vector{&operators[3]});
  EXPECT_EQ(block.sum, &operators[8]);
}

// Factors and biases of experts follow the products of the first wave. The block leaves out those of other matrices.
TEST(ExpertBlock, has_the_factors_and_biases_of_its_products) {
  ExpertFetch later;
  later.wave = 1;
  Scale factor;
  Bias bias;
  factor.chosen = bias.chosen = true;
  const std::vector<Operator> operators = {
      {"fetch", ExpertFetch{}},   product("up", 64, 32, 0), {"up.factor", factor},          {"up.bias", bias},
      {"shared.factor", Scale{}}, {"unit", Glu{}},          product("down", 64, 32, 0),     {"down.bias", bias},
      {"shared.bias", Bias{}},    {"fetch_wave1", later},   product("up_wave1", 64, 32, 0), {"up_wave1.factor", factor},
      {"sum", ExpertSum{}}};
  const ExpertBlock block = expert_block_at(operators);
  EXPECT_EQ(block.up_ends, (std::vector{&operators[2], &operators[3]}));
  EXPECT_EQ(block.down_ends, std::vector{&operators[7]});
  EXPECT_STREQ(block.ends(), "factors");
  EXPECT_STREQ(expert_block_at(std::span(operators).subspan(6)).ends(), "biases");
  EXPECT_EQ(expert_block_at(std::span(operators).subspan(12)).ends(), nullptr);
}

TEST(ExpertBlock, of_a_guess_has_no_sum) {
  const std::vector<Operator> operators = {{"guess", Route{}}, {"route", Route{}}, {"sum", ExpertSum{}}};
  EXPECT_EQ(expert_block_at(operators).sum, nullptr);
}

}  // namespace
}  // namespace tandem
