// Shares of a pass's room, worked out by hand.
#include "engine/run/serve/pass_room.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace tandem::testing {
namespace {

using Tokens = std::vector<int64_t>;

Tokens shares(const Tokens& rests, int64_t room) { return share_room(rests, room); }

TEST(PassRoom, is_a_prompts_alone_where_no_other_is_read) {
  EXPECT_EQ(shares({1500}, 512), (Tokens{512}));
  EXPECT_EQ(shares({30}, 512), (Tokens{30}));
  EXPECT_EQ(shares({}, 512), Tokens{});
  EXPECT_EQ(shares({30, 40}, 0), (Tokens{0, 0}));
}

// 100 + 100 end, so the long one has 200. With 20 that end, it has the least piece, 64.
TEST(PassRoom, of_a_long_prompt_is_as_much_as_short_ones_behind_it_need) {
  EXPECT_EQ(shares({1500, 100, 100}, 512), (Tokens{200, 100, 100}));
  EXPECT_EQ(shares({1500, 20}, 512), (Tokens{64, 20}));
  EXPECT_EQ(shares({1500, 300}, 512), (Tokens{512, 0})) << "it does not fit into the half that the long one leaves";
}

// Half of 512 is 256. 100 and 120 fit into the other half, and the 36 that are left go to the oldest again.
TEST(PassRoom, goes_to_the_shortest_first_and_leaves_the_oldest_its_half) {
  EXPECT_EQ(shares({1500, 200, 100, 120}, 512), (Tokens{220, 0, 100, 120}));
  EXPECT_EQ(shares({10, 1500, 40}, 512), (Tokens{10, 64, 40})) << "a long prompt behind a short one";
  EXPECT_EQ(shares({1500, 1000, 1000}, 512), (Tokens{512, 0, 0})) << "long ones come one after another";
}

TEST(PassRoom, of_equal_prompts_goes_to_them_in_their_order) {
  EXPECT_EQ(shares({128, 128, 128, 128, 128}, 512), (Tokens{128, 128, 128, 128, 0}));
  EXPECT_EQ(shares({200, 200, 200, 200}, 512), (Tokens{200, 200, 112, 0}));
}

// A prompt of 1,500 tokens beside short ones without end: 1,500 / 256 passes, rounded up.
TEST(PassRoom, lets_a_long_prompt_end_beside_short_ones_without_end) {
  int64_t rest = 1500, passes = 0;
  for (; rest > 0 && passes < 99; ++passes) rest -= shares({rest, 128, 128, 128, 128, 128}, 512)[0];
  EXPECT_EQ(passes, 6);
}

// Whatever the prompts: no share is beyond its rest, all of them fit, and the oldest prompt advances.
TEST(PassRoom, is_never_exceeded_and_always_has_the_oldest_prompt) {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    Tokens rests(1 + random() % 20);
    for (int64_t& rest : rests) rest = 1 + static_cast<int64_t>(random() % (random() % 4 == 0 ? 2000 : 60));
    const int64_t room = 1 + static_cast<int64_t>(random() % 600);
    const Tokens got = shares(rests, room);
    EXPECT_LE(std::accumulate(got.begin(), got.end(), int64_t{0}), room);
    EXPECT_GE(got[0], std::min({rests[0], (room + 1) / 2, kLeastPiece}));
    for (size_t k = 0; k < rests.size(); ++k) EXPECT_LE(got[k], rests[k]);
  }
}

}  // namespace
}  // namespace tandem::testing
