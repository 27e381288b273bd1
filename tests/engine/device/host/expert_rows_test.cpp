// Checks N3 and N7 on numbers worked out by hand: which tokens get a row of an expert, which are listed, which are
// dropped, and what the sum reads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "engine/device/host/arithmetic.h"
#include "sync/error.h"
#include "sync/pool.h"

namespace tandem::host {
namespace {

using ::testing::ElementsAre;

// Each of five tokens goes to expert 0 and to one of three others. Expert 0 has two rows, beginning with row 1. Expert
// 1 has one row, row 0. Expert 2 has none.
class ExpertRowsOfTokens : public ::testing::Test {
 protected:
  Operand words(const std::vector<int32_t>& values) {
    const Operand at{&pool_.acquire(values.size() * sizeof(int32_t), sync::SlotUse::activations, "words"), 0};
    std::ranges::copy(values, at.as<int32_t>());
    return at;
  }
  Operand floats(const std::vector<float>& values) {
    const Operand at{&pool_.acquire(values.size() * sizeof(float), sync::SlotUse::activations, "floats"), 0};
    std::ranges::copy(values, at.as<float>());
    return at;
  }
  std::vector<int32_t> read(const Operand& at, size_t begin, size_t count) const {
    return {at.as<int32_t>() + begin, at.as<int32_t>() + begin + count};
  }
  ExpertSlots slots() {
    ExpertSlots op;
    op.S = 5, op.E = 3, op.k = 2, op.rows = 3;
    op.experts = {{1, 2}, {0, 1}, {0, 0}};
    op.ids = words({0, 1, 0, 2, 0, 1, 0, 2, 0, 2});
    op.choice_of = words(std::vector<int32_t>(3, 77));
    op.row_of = words(std::vector<int32_t>(10, 77));
    op.lists = words(std::vector<int32_t>(5 * expert_list_words(3, 2), 77));
    return op;
  }
  sync::Pool pool_;
};

TEST_F(ExpertRowsOfTokens, go_to_the_first_and_the_rest_is_listed) {
  const ExpertSlots op = slots();
  run_expert_slots(op);
  // The choices of expert 0 are 0, 2, 4, 6, 8; of expert 1: 1, 5; of expert 2: 3, 7, 9.
  EXPECT_THAT(read(op.choice_of, 0, 3), ElementsAre(1, 0, 2));
  EXPECT_THAT(read(op.row_of, 0, 10),
              ElementsAre(1, 0, 2, kElsewhere, kElsewhere, kElsewhere, kElsewhere, kElsewhere, kElsewhere, kElsewhere));
  EXPECT_THAT(read(op.lists, 0, 4), ElementsAre(3, 0, 1, 2));
  EXPECT_THAT(read(op.lists, expert_list_begins(3), 4), ElementsAre(0, 3, 4, 7));
  EXPECT_THAT(read(op.lists, expert_list_choices(3), 7), ElementsAre(4, 6, 8, 5, 3, 7, 9));
}

TEST_F(ExpertRowsOfTokens, are_kept_for_the_most_salient_where_the_rest_is_dropped) {
  ExpertSlots op = slots();
  op.width = 2, op.x_stride = 3;  // lengths 5, 1, 5, 7 and 2: expert 0 keeps tokens 3 and 0, the earlier one of equals
  op.x = floats({3, 4, 9, 0, 1, 9, 5, 0, 9, 0, 7, 9, 2, 0, 9});
  run_expert_slots(op);
  EXPECT_THAT(read(op.choice_of, 0, 3), ElementsAre(1, 0, 6)) << "of expert 1 token 0 is as long as token 2";
  EXPECT_THAT(read(op.row_of, 0, 10),
              ElementsAre(1, 0, kDropped, kElsewhere, kDropped, kDropped, 2, kElsewhere, kDropped, kElsewhere));
  EXPECT_THAT(read(op.lists, 0, 2), ElementsAre(1, 2)) << "an expert without rows drops nothing";
  EXPECT_THAT(read(op.lists, expert_list_choices(3), 3), ElementsAre(3, 7, 9));
}

// Expert e belongs to side `first` + e.
class SideOfEachExpert final : public ExpertDivider {
 public:
  explicit SideOfEachExpert(int32_t first) : first_(first) {}
  void divide(const DivideRequest& request, std::span<int32_t> sides) override {
    loads.assign(request.loads.begin(), request.loads.end());
    for (size_t e = 0; e < sides.size(); ++e) sides[e] = first_ + static_cast<int32_t>(e);
  }
  std::vector<int64_t> loads{};

 private:
  const int32_t first_;
};

// Choices 0 and 2 are of expert 0, choices 1 and 4 of expert 1, choices 3 and 5 of expert 2.
TEST_F(ExpertRowsOfTokens, are_those_of_their_choices_on_every_side_but_the_first) {
  SideOfEachExpert divider(0), beyond(1);
  ExpertSides op;
  op.S = 3, op.E = 3, op.k = 2, op.sides = 3, op.divider = &divider;
  op.ids = words({0, 1, 0, 2, 1, 2});
  op.side_ids_bytes = 6 * sizeof(int32_t), op.side_lists_bytes = 3 * expert_list_words(3, 2) * sizeof(int32_t);
  op.of_side = words(std::vector<int32_t>(3 * 6, 77));
  op.lists = words(std::vector<int32_t>(3 * 3 * expert_list_words(3, 2), 77));
  op.row_of = words(std::vector<int32_t>(6, 77));
  run_expert_sides(op);
  EXPECT_THAT(divider.loads, ElementsAre(2, 2, 2));
  EXPECT_THAT(read(op.row_of, 0, 6), ElementsAre(kElsewhere, 1, kElsewhere, 3, 4, 5));
  EXPECT_THAT(read(op.of_side, 0, 6), ElementsAre(0, kElsewhere, 0, kElsewhere, kElsewhere, kElsewhere));
  EXPECT_THAT(read(op.of_side, 6, 6), ElementsAre(kElsewhere, 1, kElsewhere, kElsewhere, 1, kElsewhere));
  const Operand last = op.lists.advanced(2 * op.side_lists_bytes);
  EXPECT_THAT(read(last, 0, 2), ElementsAre(1, 2));
  EXPECT_THAT(read(last, expert_list_choices(3), 2), ElementsAre(3, 5));
  op.divider = &beyond;
  EXPECT_THROW(run_expert_sides(op), Error) << "expert 2 would be on side 3";
}

TEST_F(ExpertRowsOfTokens, are_filled_with_their_tokens_or_with_zeros) {
  GatherRows op;
  op.S = 2, op.k = 2, op.rows = 3, op.width = 2, op.x_stride = 3;
  op.x = floats({1, 2, 9, 3, 4, 9});
  op.choice_of = words({3, -1, 0});
  op.y = floats(std::vector<float>(6, 77));
  run_gather_rows(op);
  EXPECT_THAT(std::vector<float>(op.y.as<float>(), op.y.as<float>() + 6), ElementsAre(3, 4, 0, 0, 1, 2));
}

TEST_F(ExpertRowsOfTokens, are_added_with_what_was_computed_elsewhere) {
  ExpertSum op;
  op.S = 2, op.k = 2, op.width = 1, op.rows = 3;
  op.x = floats({10, 20, 30, 40});
  op.weights = floats({1, 0.5, 2, 0.25});
  op.row_of = words({kElsewhere, 2, kDropped, kElsewhere});
  op.slots = floats({100, 200, 300});
  op.y = floats({0, 0});
  Workers workers(1, {});
  for (const bool contract : {false, true}) {
    contract ? run_contract({"sum", op}, best_loops(), workers) : run_reference({"sum", op});
    EXPECT_THAT(std::vector<float>(op.y.as<float>(), op.y.as<float>() + 2), ElementsAre(10 + 150, 10));
  }
}

}  // namespace
}  // namespace tandem::host
