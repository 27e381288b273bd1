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

TEST(ExpertWaves, are_one_where_all_choices_fit_and_else_leave_the_slots_of_a_turn_free) {
  EXPECT_EQ(expert_waves(2, 8, 2), 1);
  EXPECT_EQ(expert_waves(2, 8, 1), 3);    // none, then a turn of one slot for each
  EXPECT_EQ(expert_waves(100, 8, 4), 6);  // 3, then five of one
  EXPECT_EQ(expert_waves(7, 8, 4), 5);    // 3, then four of one
  EXPECT_EQ(expert_waves(100, 8, 8), 1);
  EXPECT_EQ(expert_waves(512, 64, 27), 9);  // 21, then eight of at most six
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

// Tokens: 6 has three, 5 and 7 two each, others one. Two of the eight slots are a turn.
const std::vector<int32_t> kTenExperts = {0, 6, 5, 6, 7, 5, 6, 7, 1, 2, 3, 4, 8, 9};

TEST(ResidentExperts, come_in_waves_by_falling_tokens) {
  ResidentExperts experts(12, 8);
  pass(experts, {0});
  EXPECT_EQ(experts.ask(kTenExperts), 1);
  EXPECT_THAT(experts.begin_wave(0),
              ElementsAre(ResidentExperts::Load{6, 1}, ResidentExperts::Load{5, 2}, ResidentExperts::Load{7, 3},
                          ResidentExperts::Load{1, 4}, ResidentExperts::Load{2, 5}));
  EXPECT_EQ(experts.place_of(0), 0);
  EXPECT_EQ(experts.place_of(3), kElsewhere) << "it comes later";
  EXPECT_THAT(experts.begin_wave(1), ElementsAre(ResidentExperts::Load{3, 6}, ResidentExperts::Load{4, 7}));
  EXPECT_EQ(experts.place_of(6), kElsewhere) << "its wave is over";
  // The slots of 0 and 1, which have one token each and the lowest ids.
  EXPECT_THAT(experts.begin_wave(2), ElementsAre(ResidentExperts::Load{8, 0}, ResidentExperts::Load{9, 4}));
  EXPECT_THAT(experts.begin_wave(3), IsEmpty());
  EXPECT_EQ(experts.place_of(9), kElsewhere);
  for (const int32_t expert : {5, 6, 7}) EXPECT_TRUE(experts.is_resident(expert)) << expert;
}

TEST(ResidentExperts, of_the_next_wave_take_slots_that_this_wave_does_not_need) {
  ResidentExperts experts(12, 8);
  pass(experts, {0});
  experts.ask(kTenExperts);
  EXPECT_EQ(experts.begin_wave(0).size(), 5u);
  EXPECT_THAT(experts.begin_ahead(), ElementsAre(ResidentExperts::Load{3, 6}, ResidentExperts::Load{4, 7}));
  EXPECT_EQ(experts.place_of(3), kElsewhere) << "its wave has not begun";
  EXPECT_THAT(experts.begin_wave(1), IsEmpty());
  EXPECT_EQ(experts.place_of(3), 6);
  EXPECT_THAT(experts.begin_ahead(), ElementsAre(ResidentExperts::Load{8, 0}, ResidentExperts::Load{9, 4}));
  EXPECT_THAT(experts.begin_wave(2), IsEmpty());
  EXPECT_THAT(experts.begin_ahead(), IsEmpty());
}

TEST(ResidentExperts, wait_for_their_wave_where_this_wave_needs_all_slots) {
  ResidentExperts experts(8, 4);
  pass(experts, {0, 1, 2, 3});
  experts.ask(std::vector<int32_t>{0, 1, 2, 3, 4});
  EXPECT_THAT(experts.begin_wave(0), IsEmpty());
  EXPECT_THAT(experts.begin_ahead(), IsEmpty());
  EXPECT_TRUE(experts.has_later_waves()) << "although nothing can be loaded for them yet";
  EXPECT_THAT(experts.begin_wave(1), ElementsAre(ResidentExperts::Load{4, 0}));
  EXPECT_FALSE(experts.has_later_waves());
}

TEST(ResidentExperts, use_fewer_slots_for_a_while) {
  ResidentExperts experts(8, 4);
  pass(experts, {0, 1, 2, 3});
  const int64_t version = experts.version();
  experts.use_slots(2);
  EXPECT_NE(experts.version(), version) << "nobody goes on filling a slot that went";
  EXPECT_EQ(experts.slots(), 2);
  EXPECT_TRUE(experts.is_resident(0) && experts.is_resident(1));
  EXPECT_FALSE(experts.is_resident(2) || experts.is_resident(3));
  EXPECT_EQ(experts.empty_slot(), -1);
  EXPECT_EQ(experts.ask(std::vector<int32_t>{2, 0}), 1);
  EXPECT_THAT(experts.begin_wave(0), ElementsAre(ResidentExperts::Load{2, 1}));
  experts.use_slots(4);
  EXPECT_EQ(experts.empty_slot(), 2);
  EXPECT_EQ(experts.ask(std::vector<int32_t>{4, 2}), 1);
  EXPECT_THAT(experts.begin_wave(0), ElementsAre(ResidentExperts::Load{4, 2}));
}

TEST(ResidentExperts, are_expected_by_earlier_runs) {
  ResidentExperts experts(8, 4);
  experts.expect(std::vector<int64_t>{1, 0, 0, 9, 0, 5, 0, 0});
  EXPECT_THAT(experts.begin_filling(),
              ElementsAre(ResidentExperts::Load{3, 0}, ResidentExperts::Load{5, 1}, ResidentExperts::Load{0, 2}));
  pass(experts, {7});
  pass(experts, {6});
  EXPECT_FALSE(experts.is_resident(0)) << "the least expected one leaves first";
  EXPECT_EQ(experts.choices()[7], 1);
}

TEST(ResidentExperts, fill_empty_slots_before_they_are_asked_for_and_leave_those_of_a_turn) {
  ResidentExperts experts(12, 8);
  pass(experts, {1, 7});
  EXPECT_THAT(experts.begin_filling(), ElementsAre(ResidentExperts::Load{0, 2}, ResidentExperts::Load{2, 3},
                                                   ResidentExperts::Load{3, 4}, ResidentExperts::Load{4, 5}));
  EXPECT_THAT(experts.begin_filling(), IsEmpty());
  EXPECT_EQ(experts.evictions(), 0);
  EXPECT_EQ(experts.ask(std::vector<int32_t>{3, 5}), 1);
  EXPECT_THAT(experts.begin_wave(0), ElementsAre(ResidentExperts::Load{5, 6}));
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
      const bool ahead = random() % 2 == 0;
      const auto load = [&](const Loads& loads) {
        for (const auto& [expert, slot] : loads) {
          EXPECT_TRUE(loaded.insert(expert).second) << "loaded twice";
          memory[slot] = expert;
        }
      };
      for (int64_t wave = 0; wave < expert_waves(std::ssize(ids), E, slots); ++wave) {
        load(experts.begin_wave(wave));
        if (ahead) load(experts.begin_ahead());
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
