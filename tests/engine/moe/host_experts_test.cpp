#include "engine/moe/host_experts.h"

#include <gmock/gmock.h>

namespace tandem::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<int32_t> kNoSlots{-1, -1, -1, -1, -1, -1};

TEST(HostExperts, are_read_once_while_there_are_places) {
  HostExperts experts(6, 3);
  EXPECT_THAT(experts.ask(std::vector{4, 1}, kNoSlots).read, ElementsAre(4, 1));
  EXPECT_THAT(experts.ask(std::vector{1, 5}, kNoSlots).read, ElementsAre(5));
  EXPECT_THAT(experts.ask(std::vector{5, 4, 1}, kNoSlots).read, IsEmpty());
  EXPECT_EQ(experts.held(), 3);
}

TEST(HostExperts, leave_when_they_were_asked_for_longest_ago_and_the_lower_id_of_equals) {
  HostExperts experts(6, 3);
  experts.ask(std::vector{4, 1}, kNoSlots);
  experts.ask(std::vector{3}, kNoSlots);
  experts.ask(std::vector{4}, kNoSlots);
  EXPECT_THAT(experts.ask(std::vector{0}, kNoSlots).leave, ElementsAre(1));
  EXPECT_THAT(experts.ask(std::vector{1, 2}, kNoSlots).leave, ElementsAre(3, 4));
  EXPECT_TRUE(experts.holds(0) && experts.holds(1) && experts.holds(2));

  HostExperts equals(6, 3);
  equals.ask(std::vector{5, 3, 4}, kNoSlots);
  EXPECT_THAT(equals.ask(std::vector{0}, kNoSlots).leave, ElementsAre(3));
}

TEST(HostExperts, leave_first_when_they_have_a_slot) {
  HostExperts experts(6, 3);
  for (const int32_t expert : {0, 1, 2}) experts.ask(std::vector{expert}, kNoSlots);
  EXPECT_THAT(experts.ask(std::vector{3}, std::vector{-1, -1, 0, -1, -1, -1}).leave, ElementsAre(2));
}

TEST(HostExperts, stay_while_they_are_copied) {
  HostExperts experts(6, 2);
  for (const int32_t expert : {0, 1}) experts.ask(std::vector{expert}, kNoSlots);
  EXPECT_THAT(experts.ask(std::vector{3}, kNoSlots, 0).leave, ElementsAre(1));
}

TEST(HostExperts, of_a_pass_that_needs_more_than_all_places_stay_until_the_next_one) {
  HostExperts experts(6, 2);
  experts.ask(std::vector{5}, kNoSlots);
  const HostExperts::Changes& many = experts.ask(std::vector{0, 1, 2}, kNoSlots);
  EXPECT_THAT(many.read, ElementsAre(0, 1, 2));
  EXPECT_THAT(many.leave, ElementsAre(5));
  EXPECT_EQ(experts.held(), 3);
  EXPECT_THAT(experts.ask(std::vector{2}, kNoSlots).leave, ElementsAre(0));
  EXPECT_EQ(experts.held(), 2);
}

TEST(HostExperts, come_back_from_slots_where_another_may_leave_for_them) {
  HostExperts experts(6, 3);
  EXPECT_EQ(experts.take_back(5, kNoSlots), -1) << "there is a free place";
  EXPECT_EQ(experts.take_back(5, kNoSlots), std::nullopt) << "it is here";
  experts.ask(std::vector{0, 1}, kNoSlots);
  EXPECT_EQ(experts.take_back(4, kNoSlots), 5) << "it was not asked for";
  EXPECT_TRUE(experts.holds(4));
  experts.ask(std::vector{0, 1, 2}, kNoSlots);
  EXPECT_EQ(experts.take_back(5, kNoSlots), std::nullopt) << "all were asked for last";
  EXPECT_EQ(experts.held(), 3);
  // The next ask() needs two experts: the one that came back is older than those that were asked for.
  HostExperts others(6, 2);
  others.ask(std::vector{0}, kNoSlots);
  others.take_back(3, kNoSlots);
  EXPECT_THAT(others.ask(std::vector{1}, kNoSlots).leave, ElementsAre(3));
}

TEST(HostExperts, are_asked_for_again_when_they_could_not_be_read) {
  HostExperts experts(6, 2);
  experts.ask(std::vector{0, 1}, kNoSlots);
  experts.drop(1);
  EXPECT_FALSE(experts.holds(1));
  EXPECT_THAT(experts.ask(std::vector{0, 1}, kNoSlots).read, ElementsAre(1));
}

}  // namespace
}  // namespace tandem::testing
