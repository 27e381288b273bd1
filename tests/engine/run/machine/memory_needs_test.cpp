// What `tandem info` says about memory. Expected times are worked out by hand.
#include "engine/run/machine/memory_needs.h"

#include <gtest/gtest.h>

#include "sync/error.h"
#include "tests/support/data.h"

namespace tandem {
namespace {

using enum ExpertBudget::Unit;

MemoryNeeds needs_with(const std::string& file, const ExpertBudgets& budgets,
                       const std::optional<MemoryRoom>& room = std::nullopt, int64_t context = 512) {
  return memory_needs(GgufFile::open(testing::repository_data(file)), budgets, context, KvType::f16, room);
}
MemoryNeeds needs_of(const std::string& file, const ExpertBudget& device = {},
                     const std::optional<MemoryRoom>& room = std::nullopt, int64_t context = 512) {
  return needs_with(file, {device, {}, false}, room, context);
}
const std::string kMixture = "arch-models/qwen3moe-F32.gguf";  // 3 layers of 8 experts, 2 for each token

// 100 bytes of other weights and 4 layers' experts of 10 bytes, of which a token reads 2 in each layer.
MemoryNeeds by_hand(int64_t slots) {
  MemoryNeeds needs;
  needs.weight_bytes = 100 + 4 * 8 * 10;
  needs.expert_bytes = 4 * 8 * 10;
  needs.token_expert_bytes = 4 * 2 * 10;
  needs.token_bytes = 100 + needs.token_expert_bytes;
  needs.experts = 8, needs.slots = slots;
  return needs;
}

TEST(MemoryNeeds, give_a_token_the_time_of_its_bytes) {
  // 180 bytes at 90 bytes/s take 2 s. Six eighths of 80 bytes of experts, at 20 bytes/s, take 3 s.
  EXPECT_DOUBLE_EQ(least_token_time(by_hand(2), 90, 20).memory, 2);
  EXPECT_DOUBLE_EQ(least_token_time(by_hand(2), 90, 20).storage, 3);
  EXPECT_DOUBLE_EQ(least_token_time(by_hand(2), 90, 20).seconds(), 5);
  EXPECT_DOUBLE_EQ(least_token_time(by_hand(8), 90, 20).seconds(), 2);
  EXPECT_EQ(by_hand(2).resident_bytes(), 100u + 4 * 2 * 10);
  EXPECT_EQ(by_hand(8).resident_bytes(), 420u);
}

TEST(MemoryNeeds, count_what_the_file_of_a_mixture_holds) {
  const MemoryNeeds all = needs_of(kMixture);
  // Three matrices of 32 x 64 floats for each expert.
  const uint64_t least = uint64_t{3} * 8 * 3 * 32 * 64 * 4;
  EXPECT_GE(all.expert_bytes, least);
  EXPECT_LT(all.expert_bytes, least + 3 * 8 * 8192) << "records end at a multiple of 4096 bytes";
  EXPECT_EQ(all.token_expert_bytes, all.expert_bytes / 4);
  EXPECT_FALSE(all.experts_move());
  EXPECT_EQ(all.resident_bytes(), all.weight_bytes);
  // Two KV heads of 32 halves, for keys and for values, in three layers.
  EXPECT_EQ(all.context_bytes, uint64_t{3} * 512 * 2 * 32 * 2 * 2);
  const MemoryNeeds quarter = needs_of(kMixture, {percent, 25});
  EXPECT_EQ(quarter.slots, 2);
  EXPECT_EQ(quarter.resident_bytes(), all.weight_bytes - all.expert_bytes / 4 * 3);
  // The embedding of 512 x 64 floats is read row by row.
  EXPECT_LE(all.token_bytes + 512 * 64 * 4, all.weight_bytes - all.expert_bytes + all.token_expert_bytes);
}

// Slots and the host's memory hold different experts, so two eighths are read from storage: 20 bytes at 20 bytes/s.
TEST(MemoryNeeds, of_copies_count_the_slots_and_the_host_s_memory) {
  MemoryNeeds copied = by_hand(2);
  copied.in_host = 4;
  EXPECT_EQ(copied.held(), 6);
  EXPECT_EQ(copied.resident_bytes(), 100u + 4 * 6 * 10);
  EXPECT_DOUBLE_EQ(least_token_time(copied, 90, 20).storage, 1);
  copied.in_host = 8;
  EXPECT_EQ(copied.resident_bytes(), 100u + 4 * 10 * 10) << "experts in slots are in the host's memory too";
  EXPECT_DOUBLE_EQ(least_token_time(copied, 90, 20).storage, 0);

  const MemoryNeeds mixture = needs_with(kMixture, {{percent, 25}, {percent, 50}, true});
  EXPECT_EQ(mixture.slots, 2);
  EXPECT_EQ(mixture.in_host, 4);
  EXPECT_EQ(needs_with(kMixture, {{percent, 100}, {}, true}).in_host, 8) << "slots are copies";
}

TEST(MemoryNeeds, follow_the_free_memory_if_no_budget_is_given) {
  const MemoryNeeds all = needs_of(kMixture);
  const MemoryRoom most{all.weight_bytes / 10 * 9, "the test"};
  const MemoryNeeds less = needs_of(kMixture, {}, most);
  EXPECT_TRUE(less.experts_move());
  EXPECT_LT(less.resident_bytes(), most.bytes);
  EXPECT_THROW(needs_of(kMixture, {}, MemoryRoom{4096, "the test"}), Error);
}

TEST(MemoryNeeds, of_a_dense_model_have_no_experts_and_refuse_a_budget) {
  const std::string dense = "tiny-models/stories260K-F16.gguf";
  EXPECT_EQ(needs_of(dense).experts, 0);
  EXPECT_EQ(needs_of(dense).expert_bytes, 0u);
  EXPECT_THROW(needs_of(dense, {percent, 50}), Error);
}

}  // namespace
}  // namespace tandem
