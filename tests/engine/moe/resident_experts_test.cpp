// Which experts of a layer are in its slots: waves, loads, and who leaves. Expected values are worked out by hand.
#include "engine/moe/resident_experts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "engine/tensor/expert_source.h"
#include "engine/tensor/routing.h"

namespace tandem {

void PrintTo(const ResidentExperts::Load& load, std::ostream* out) {
  *out << load.expert << " into slot " << load.slot;
}

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Loads = std::vector<ResidentExperts::Load>;

// One pass of a single wave.
Loads pass(ResidentExperts& experts, std::vector<int32_t> ids) {
  experts.ask(ids);
  return experts.begin_wave(0);
}

TEST(ExpertWaves, are_one_where_all_choices_fit_and_one_more_for_each_half_of_the_slots) {
  EXPECT_EQ(expert_waves(2, 8, 2), 1);
  EXPECT_EQ(expert_waves(2, 8, 1), 2);    // a turn of one slot
  EXPECT_EQ(expert_waves(100, 8, 4), 3);  // 4, then 2 and 2
  EXPECT_EQ(expert_waves(7, 8, 4), 3);    // 4, 2, 1
  EXPECT_EQ(expert_waves(100, 8, 8), 1);
  EXPECT_EQ(expert_waves(100, 9, 3), 7);  // 3, then six of one
}

TEST(ResidentExperts, fill_empty_slots_in_order_and_load_nothing_that_is_there) {
  ResidentExperts experts(8, 3);
  EXPECT_THAT(pass(experts, {5, 1}), ElementsAre(ResidentExperts::Load{1, 0}, ResidentExperts::Load{5, 1}));
  EXPECT_EQ(experts.place_of(5), 1);
  EXPECT_EQ(experts.place_of(0), kElsewhere);
  EXPECT_EQ(experts.ask(std::vector<int32_t>{1, 5}), 2);
  EXPECT_THAT(experts.begin_wave(0), IsEmpty());
  EXPECT_EQ(experts.evictions(), 0);
}

TEST(ResidentExperts, evict_the_one_of_least_use) {
  ResidentExperts experts(8, 3);
  pass(experts, {0, 1});
  pass(experts, {1, 2});
  // 0 was asked for in the first pass alone.
  EXPECT_THAT(pass(experts, {3}), ElementsAre(ResidentExperts::Load{3, 0}));
  // 1 and 2 were asked for in one pass, by one token each: the lower id leaves.
  EXPECT_THAT(pass(experts, {4}), ElementsAre(ResidentExperts::Load{4, 1}));
  EXPECT_EQ(experts.evictions(), 2);
  EXPECT_TRUE(experts.is_resident(2));
  EXPECT_FALSE(experts.is_resident(1));
}

TEST(ResidentExperts, of_the_pass_itself_stay_though_they_were_used_long_ago) {
  ResidentExperts experts(8, 2);
  pass(experts, {0});
  pass(experts, {1});
  EXPECT_THAT(pass(experts, {0, 2}), ElementsAre(ResidentExperts::Load{2, 1}));
}

// Loads: 6 has three tokens, 5 and 7 two each, others one.
TEST(ResidentExperts, come_in_waves_by_falling_tokens) {
  ResidentExperts experts(8, 4);
  pass(experts, {0});
  EXPECT_EQ(experts.ask(std::vector<int32_t>{0, 6, 5, 6, 7, 5, 6, 7, 1, 2, 3}), 1);
  EXPECT_THAT(experts.begin_wave(0),
              ElementsAre(ResidentExperts::Load{6, 1}, ResidentExperts::Load{5, 2}, ResidentExperts::Load{7, 3}));
  EXPECT_EQ(experts.place_of(0), 0);
  EXPECT_EQ(experts.place_of(1), kElsewhere) << "it comes later";
  // Two slots a turn: those of 0 (one token) and of 5 (two tokens, as 7, and the lower id).
  EXPECT_THAT(experts.begin_wave(1), ElementsAre(ResidentExperts::Load{1, 0}, ResidentExperts::Load{2, 2}));
  EXPECT_EQ(experts.place_of(6), kElsewhere) << "its wave is over";
  EXPECT_THAT(experts.begin_wave(2), ElementsAre(ResidentExperts::Load{3, 0}));
  EXPECT_THAT(experts.begin_wave(3), IsEmpty());
  EXPECT_EQ(experts.place_of(3), kElsewhere);
  EXPECT_TRUE(experts.is_resident(6));
  EXPECT_TRUE(experts.is_resident(7));
}

TEST(ResidentExperts, that_could_not_be_loaded_are_asked_for_again) {
  ResidentExperts experts(4, 2);
  const Loads loads = pass(experts, {1, 2});
  experts.drop(loads);
  EXPECT_FALSE(experts.is_resident(1));
  EXPECT_EQ(experts.ask(std::vector<int32_t>{1, 2}), 0);
  EXPECT_EQ(experts.begin_wave(0), loads);
}

// Random passes. Every choice has a slot in exactly one wave, and no two experts of a wave share a slot. Nothing is
// loaded twice in a pass. The waves are no more than plans are made for.
TEST(ResidentExperts, give_each_choice_a_slot_in_one_wave_and_load_each_expert_once) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 300; ++trial) {
    const int64_t E = 1 + static_cast<int64_t>(random() % 12), slots = 1 + static_cast<int64_t>(random() % E);
    ResidentExperts experts(E, slots);
    std::map<int32_t, int32_t> memory;  // slot: the expert that was read into it last
    for (int p = 0; p < 8; ++p) {
      std::vector<int32_t> ids(1 + random() % 20);
      for (int32_t& id : ids) id = static_cast<int32_t>(random() % static_cast<uint32_t>(E));
      int64_t expected_hits = 0;
      for (const int32_t id : ids) expected_hits += experts.is_resident(id);
      EXPECT_EQ(experts.ask(ids), expected_hits);
      std::vector<int> found(ids.size());
      std::set<int32_t> loaded;
      for (int64_t wave = 0; wave < expert_waves(std::ssize(ids), E, slots); ++wave) {
        for (const auto& [expert, slot] : experts.begin_wave(wave)) {
          EXPECT_TRUE(loaded.insert(expert).second) << "loaded twice";
          memory[slot] = expert;
        }
        for (size_t i = 0; i < ids.size(); ++i) {
          const int32_t slot = experts.place_of(ids[i]);
          if (slot == kElsewhere) continue;
          ++found[i];
          ASSERT_LT(slot, slots);
          EXPECT_EQ(memory.at(slot), ids[i]);
        }
      }
      EXPECT_THAT(found, ::testing::Each(1));
    }
  }
}

}  // namespace
}  // namespace tandem
