// The lowering of a mixture of experts: which kernel, how many work-items, and which operators it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/device/gpu/lower.h"
#include "shaders/limits.h"
#include "tests/engine/device/gpu/families.h"
#include "tests/support/message_of.h"

namespace tandem::gpu {
namespace {

using tandem::test::message_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct ExpertMemory {
  sync::Pool pool;
  Operand take() { return {&pool.acquire(64, sync::SlotUse::activations, "operand"), 0}; }
};

GroupedMatMul experts_of(int64_t S, int64_t slots, int64_t count, int64_t rows, int64_t columns) {
  GroupedMatMul op;
  op.S = S, op.slots = slots;
  op.w = {packed_format(StorageType::q4_1), count, rows, columns, {}};
  op.x_stride = columns, op.y_slot = rows, op.y_stride = slots * rows;
  return op;
}

// Each slot has its own matrix.
GroupedMatMul heads_of(int64_t S, int64_t heads, int64_t rows, int64_t columns) {
  GroupedMatMul op = experts_of(S, heads, heads, rows, columns);
  op.routed = false, op.x_slot = columns, op.x_stride = heads * columns;
  return op;
}

KernelLaunch one_launch(const GroupedMatMul& op, const LoweringContext& context) {
  const auto launches = lower_grouped_matmul(op, context);
  EXPECT_EQ(launches.size(), 1u);
  return launches.at(0);
}

TEST(LowerGroupedMatMul, without_lists_each_choice_is_a_matrix_vector_product) {
  const KernelLaunch simd = one_launch(experts_of(20, 3, 5, 130, 64), {});
  EXPECT_EQ(simd.source, "matmul_i4_simd");
  EXPECT_EQ(simd.kernel, "grouped_small_batch");
  EXPECT_THAT(simd.options, HasSubstr("-DGROUPED=1"));
  EXPECT_THAT(simd.options, HasSubstr("-DTOKENS=1"));
  EXPECT_THAT(simd.options, HasSubstr("-DHAS_IDS=1"));
  EXPECT_THAT(simd.global, ElementsAre(3, 3, 20));
  const KernelLaunch simt = one_launch(experts_of(20, 3, 5, 130, 64), {.family = KernelFamily::simt});
  EXPECT_EQ(simt.source, "matmul_i4_simt");
  EXPECT_THAT(simt.local, ElementsAre(64, 4, 1));
  EXPECT_THAT(simt.global, ElementsAre(3 * 64, 3 * 4, 20));
}

TEST(LowerGroupedMatMul, with_lists_a_cpu_work_item_owns_rows_of_a_matrix_that_somebody_may_have_chosen) {
  ExpertMemory memory;
  GroupedMatMul op = experts_of(100, 3, 64, 130, 64);
  op.ids = memory.take(), op.lists = memory.take();
  const KernelLaunch launch = one_launch(op, {});
  EXPECT_EQ(launch.kernel, "grouped_gemm");
  EXPECT_THAT(launch.options, HasSubstr("-DHAS_LISTS=1"));
  EXPECT_THAT(launch.options, HasSubstr("-DBLOCKS=2"));
  EXPECT_THAT(launch.global, ElementsAre(5, 64, 1));
  EXPECT_TRUE(std::get<BufferArg>(launch.args[3]).at == op.lists);
  op.S = 33;
  EXPECT_EQ(one_launch(op, {}).kernel, "grouped_small_batch")
      << "99 choices, of about 51 experts: hardly anything to share";
}

TEST(LowerGroupedMatMul, with_lists_a_gpu_has_a_group_for_every_tile_that_there_can_be) {
  ExpertMemory memory;
  GroupedMatMul op = experts_of(200, 2, 5, 130, 64);
  op.ids = memory.take(), op.lists = memory.take();
  // There are 400 choices. Each of 5 experts may leave a tile of 64 with one choice: 395 = 6 * 64 + 11, and 5 more.
  const KernelLaunch simt = one_launch(op, {.family = KernelFamily::simt});
  EXPECT_THAT(simt.local, ElementsAre(128, 1, 1));
  EXPECT_THAT(simt.global, ElementsAre(3 * 128, 11, 1));
  const KernelLaunch shader = one_launch(op, {.family = KernelFamily::simd, .shaders = true});  // tiles of 8
  EXPECT_THAT(shader.global, ElementsAre(3, 54, 1));
  EXPECT_THAT(shader.options, Not(HasSubstr("GROUPED"))) << "a shader's kernel is chosen by its name alone";
  EXPECT_THAT(shader.options, HasSubstr("-DBLOCKS=4"));
}

TEST(LowerGroupedMatMul, slots_with_a_matrix_each_are_multiplied_with_all_tokens_at_once) {
  const KernelLaunch few = one_launch(heads_of(3, 5, 130, 64), {});
  EXPECT_EQ(few.kernel, "grouped_small_batch");
  EXPECT_THAT(few.options, HasSubstr("-DHAS_IDS=0"));
  EXPECT_THAT(few.options, HasSubstr("-DTOKENS=3"));
  EXPECT_THAT(few.global, ElementsAre(3, 5, 1));
  const KernelLaunch many = one_launch(heads_of(100, 5, 130, 64), {});
  EXPECT_EQ(many.kernel, "grouped_gemm");
  EXPECT_THAT(many.options, HasSubstr("-DHAS_LISTS=0"));
  EXPECT_THAT(many.global, ElementsAre(5, 5, 1));
  const KernelLaunch simt = one_launch(heads_of(100, 5, 130, 64), {.family = KernelFamily::simt});
  EXPECT_THAT(simt.global, ElementsAre(3 * 128, 2, 5));
  const KernelLaunch shader = one_launch(heads_of(100, 5, 130, 64), {.shaders = true});
  EXPECT_THAT(shader.global, ElementsAre(3, 13, 5));
}

TEST(LowerGroupedMatMul, says_what_is_malformed) {
  const auto message = [](const GroupedMatMul& op) { return message_of([&] { lower_grouped_matmul(op, {}); }); };
  GroupedMatMul op = heads_of(1, 5, 130, 64);
  op.slots = 4;
  EXPECT_THAT(message(op), HasSubstr("a matrix for each slot"));
  EXPECT_THAT(message(op), HasSubstr("5 x [130, 64]"));
  op = heads_of(1, 5, 130, 64), op.x_slot = 60;
  EXPECT_THAT(message(op), HasSubstr("slots of x"));
  op = heads_of(1, 5, 130, 64), op.y_slot = 129;
  EXPECT_THAT(message(op), HasSubstr("slots of y"));
  ExpertMemory memory;
  op = heads_of(1, 5, 130, 64), op.lists = memory.take();
  EXPECT_THAT(message(op), HasSubstr("nobody made"));
}

TEST(LowerGroupedMatMul, refuses_a_stack_that_one_argument_does_not_reach) {
  const GroupedMatMul op = experts_of(1, 2, 5, 64, 64);
  const auto stack = static_cast<int64_t>(op.w.bytes());
  for (KernelFamily family : kFamilies) {
    const auto message = [&](int64_t reach) {
      return message_of([&] { lower_grouped_matmul(op, {.family = family, .max_buffer_bytes = reach}); });
    };
    EXPECT_THAT(message(stack), IsEmpty());
    EXPECT_THAT(message(stack - 1), HasSubstr("a stack of weights"));
  }
  GroupedMatMul wide = experts_of(1000, 2, 5, 64, 64);
  const auto message = message_of([&] { lower_grouped_matmul(wide, {.max_buffer_bytes = stack}); });
  EXPECT_THAT(message, HasSubstr("of all slots"));
}

TEST(LowerExperts, refuse_more_than_proven_only_where_loops_are_counted) {
  for (KernelFamily family : kFamilies) {
    const LoweringContext counted{.family = family, .loop_budget = 65535}, uncounted{.family = family};
    const auto messages = [](int64_t experts, int64_t k, int64_t S, const LoweringContext& context) {
      Route route;
      route.S = S, route.E = experts, route.k = k;
      ExpertLists lists;
      lists.S = S, lists.E = experts, lists.k = k;
      ExpertSum sum;
      sum.S = S, sum.k = k, sum.width = 64;
      return std::vector<std::string>{message_of([&] { lower_route(route, context); }),
                                      message_of([&] { lower_expert_lists(lists, context); }),
                                      message_of([&] { lower_expert_sum(sum, context); })};
    };
    constexpr int64_t kE = TANDEM_MAX_EXPERTS, kOfToken = TANDEM_MAX_CHOICES_OF_TOKEN;
    constexpr int64_t kTokens = TANDEM_MAX_CHOICES / kOfToken;
    EXPECT_THAT(messages(kE, kOfToken, kTokens, counted), ElementsAre("", "", ""));
    EXPECT_THAT(messages(kE + 1, kOfToken + 1, kTokens + 1, uncounted), ElementsAre("", "", ""));
    EXPECT_THAT(messages(kE + 1, kOfToken, 1, counted), ElementsAre(HasSubstr("a layer's experts"), "", ""));
    EXPECT_THAT(messages(kE, kOfToken + 1, 1, counted),
                ElementsAre(HasSubstr("a token's experts"), "", HasSubstr("a sum of")));
    EXPECT_THAT(messages(kE, kOfToken, kTokens + 1, counted), ElementsAre("", HasSubstr("choices of all tokens"), ""));
  }
}

TEST(LowerExperts, lists_of_shaders_hold_a_limited_number_of_experts) {
  ExpertLists op;
  op.S = 3, op.E = TANDEM_MAX_EXPERTS + 1, op.k = 2;
  EXPECT_THAT(message_of([&] { lower_expert_lists(op, {.shaders = true}); }), HasSubstr("shaders count"));
  EXPECT_THAT(message_of([&] { lower_expert_lists(op, {}); }), IsEmpty());
}

TEST(LowerExperts, a_token_is_routed_by_one_work_item) {
  Route op;
  op.S = 130, op.E = 5, op.k = 2;
  EXPECT_THAT(lower_route(op, {}).at(0).global, ElementsAre(130, 1, 1));
  const KernelLaunch simt = lower_route(op, {.family = KernelFamily::simt}).at(0);
  EXPECT_THAT(simt.global, ElementsAre(192, 1, 1));
  EXPECT_THAT(simt.local, ElementsAre(64, 1, 1));
  EXPECT_THAT(lower_route(op, {.shaders = true}).at(0).global, ElementsAre(3, 1, 1)) << "groups of 64 there";
}

TEST(LowerExperts, a_sum_runs_along_no_more_of_a_row_than_proven) {
  ExpertSum op;
  op.S = 2, op.k = 3, op.width = TANDEM_MAX_SUM_CHUNK + 1;
  const KernelLaunch launch = lower_expert_sum(op, {.compute_units = 1}).at(0);
  EXPECT_EQ(launch.global[0], 2u);
  EXPECT_EQ(std::get<int32_t>(launch.args.back()), TANDEM_MAX_SUM_CHUNK);
}

TEST(LowerCopy, of_something_to_its_own_place_has_one_argument) {
  ExpertMemory memory;
  Copy op;
  op.S = 2, op.width = op.x_stride = op.y_stride = 64, op.round_f16 = true;
  op.x = op.y = memory.take();
  const KernelLaunch in_place = lower_copy(op, {}).at(0);
  EXPECT_FALSE(std::get<BufferArg>(in_place.args[0]).at);
  EXPECT_THAT(in_place.options, HasSubstr("-DIN_PLACE=1"));
  op.y = memory.take();
  const KernelLaunch apart = lower_copy(op, {}).at(0);
  EXPECT_TRUE(std::get<BufferArg>(apart.args[0]).at == op.x);
  EXPECT_THAT(apart.options, HasSubstr("-DIN_PLACE=0"));
}

TEST(LowerGlu, has_a_row_for_each_expert_of_a_token) {
  Glu op;
  op.S = 5, op.I = 64, op.rows = 3;
  EXPECT_EQ(lower_glu(op, {}).at(0).global[1], 15u);
}

}  // namespace
}  // namespace tandem::gpu
