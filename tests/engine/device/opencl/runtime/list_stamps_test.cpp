// Stamps of a list become spans: on stamps written by hand, in place of a kernel.
#include "engine/device/opencl/list_stamps.h"

#include <gtest/gtest.h>

namespace tandem::opencl {
namespace {

struct NoProgram : Program {};

class ListStamps : public ::testing::Test {
 protected:
  // A record of one program, a wait, two records of another one.
  void SetUp() override {
    list_.add_record(&first_, 0);
    list_.add_wait();
    list_.add_record(&second_, 0);
    list_.add_record(&second_, 1);
    list_.arm(*done_.as<sync::FlagLine>(), 7);
  }
  void write(std::initializer_list<uint64_t> stamps) { std::ranges::copy(stamps, slot_.as<uint64_t>()); }

  sync::Pool pool_;
  sync::Slot& slot_ = pool_.acquire(StampedList::kMostStamps * 8, sync::SlotUse::flags, "stamps");
  sync::Slot& done_ = pool_.acquire(4096, sync::SlotUse::flags, "done");
  NoProgram first_, second_;
  StampedList list_{slot_};
  // Ten cycles a second: cycle 1000 is second 50.
  const sync::ClockTie before_{1000, 50}, after_{2000, 150};
};

TEST_F(ListStamps, are_spans_of_records_and_none_of_waits) {
  write({1100, 1200, 1500, 1510, 1530});
  const auto spans = list_.spans(before_, after_);
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_EQ(spans[0].program, &first_);
  EXPECT_DOUBLE_EQ(spans[0].start_seconds, 60);
  EXPECT_DOUBLE_EQ(spans[0].end_seconds, 70);
  EXPECT_EQ(spans[1].program, &second_);
  EXPECT_DOUBLE_EQ(spans[1].start_seconds, 100) << "behind the wait";
  EXPECT_DOUBLE_EQ(spans[1].end_seconds, 101);
  EXPECT_EQ(spans[2].op, 1);
  EXPECT_DOUBLE_EQ(spans[2].end_seconds, 103);
}

TEST_F(ListStamps, have_ended_with_the_last_one_though_the_list_has_not_said_so) {
  write({1100, 1200, 1500, 1510});
  EXPECT_FALSE(list_.ended());
  write({1100, 1200, 1500, 1510, 1530});
  EXPECT_TRUE(list_.ended());
}

TEST_F(ListStamps, of_a_list_that_ended_without_the_last_one_are_no_spans) {
  write({1100, 1200, 1500});
  done_.as<sync::FlagLine>()->epoch = 6;
  EXPECT_FALSE(list_.ended()) << "that was the list before";
  done_.as<sync::FlagLine>()->epoch = 7;
  EXPECT_TRUE(list_.ended());
  EXPECT_TRUE(list_.spans(before_, after_).empty());
}

TEST_F(ListStamps, are_forgotten_when_the_list_is_armed_again) {
  write({1100, 1200, 1500, 1510, 1530});
  list_.arm(*done_.as<sync::FlagLine>(), 8);
  EXPECT_FALSE(list_.ended());
}

TEST_F(ListStamps, have_room_for_as_many_as_the_slot_holds) {
  EXPECT_TRUE(list_.has_room(StampedList::kMostStamps - 5));
  EXPECT_FALSE(list_.has_room(StampedList::kMostStamps - 4));
}

}  // namespace
}  // namespace tandem::opencl
