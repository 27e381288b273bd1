// Stamps of a list become spans. The test writes the stamps in place of a kernel.
#include "engine/device/opencl/list_stamps.h"

#include <gtest/gtest.h>

namespace tandem::opencl {
namespace {

struct StampedProgram : Program {};

class ListStamps : public ::testing::Test {
 protected:
  // One record of a program, a wait, and two records of another program.
  void SetUp() override {
    clock_.extend({2000, 150});
    const sync::Flag flag = flags_.make("awaited");
    auto one = std::make_shared<Prepared>(), two = std::make_shared<Prepared>();
    one->owner = &first_;
    one->operator_of = {0};
    two->owner = &second_;
    two->operator_of = {0, 1};
    const ListedLaunch launches[] = {{one, {}, {}}, {two, {{flag, 1}}, {}}};
    programs_ = std::make_shared<const ProgramList>(launches, pool_);
    list_.arm(programs_, *done_.as<sync::FlagLine>(), 7);
  }
  void write(std::initializer_list<uint64_t> stamps) { std::ranges::copy(stamps, slot_.as<uint64_t>()); }

  sync::Pool pool_;
  sync::FlagBank flags_{pool_, 1, "flags"};
  sync::Slot& slot_ = pool_.acquire(4096, sync::SlotUse::flags, "stamps");
  sync::Slot& done_ = pool_.acquire(4096, sync::SlotUse::flags, "done");
  StampedProgram first_, second_;
  std::shared_ptr<const ProgramList> programs_;
  StampedList list_{slot_};
  // The clock counts ten cycles a second. Cycle 1000 is second 50.
  sync::CycleLine clock_{sync::ClockTie{1000, 50}};
};

TEST_F(ListStamps, are_spans_of_records_and_none_of_waits) {
  write({1100, 1200, 1500, 1510, 1530});
  const auto spans = list_.spans(clock_);
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
  EXPECT_TRUE(list_.spans(clock_).empty());
}

TEST_F(ListStamps, are_forgotten_when_the_list_is_armed_again) {
  write({1100, 1200, 1500, 1510, 1530});
  list_.arm(programs_, *done_.as<sync::FlagLine>(), 8);
  EXPECT_FALSE(list_.ended());
}

TEST_F(ListStamps, take_a_word_for_the_start_and_one_for_each_part) {
  EXPECT_EQ(StampedList::bytes_for(*programs_), 5 * sizeof(uint64_t));
}

}  // namespace
}  // namespace tandem::opencl
