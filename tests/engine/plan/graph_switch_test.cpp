// S1 on schedules worked out by hand.
#include "engine/plan/graph_switch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tandem {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Times = std::vector<int64_t>;

GraphSwitchTimes equal_blocks(int64_t blocks, int64_t chunks, int64_t prefill, int64_t decode, int64_t load) {
  const auto n = static_cast<size_t>(blocks);
  return {chunks, Times(n, prefill), Times(n, decode), Times(n, load)};
}

// SF15, Fig. 8: six blocks, two chunks, and a load takes as long as two blocks. Three blocks are switched behind the
// first chunk, and all behind the second. The decode graphs take as long as the prefill graph here.
TEST(GraphSwitch, of_the_papers_example_switches_three_blocks_a_chunk) {
  const SwitchSchedule schedule = progressive_schedule(equal_blocks(6, 2, 10, 10, 20));
  EXPECT_EQ(schedule.first_chunk, 0);
  EXPECT_THAT(schedule.switched, ElementsAre(3, 6));
  ASSERT_EQ(schedule.rounds.size(), 6u);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(schedule.rounds[i].block, 5 - static_cast<int64_t>(i));
    EXPECT_EQ(schedule.rounds[i].executions, 2);
    EXPECT_EQ(schedule.rounds[i].chunk, static_cast<int64_t>(i / 3));
  }
  EXPECT_EQ(schedule.prefill_end, 120);
  EXPECT_EQ(schedule.switch_end, 120);
  EXPECT_EQ(synchronous_end(equal_blocks(6, 2, 10, 10, 20)), 120 + 6 * 20);
  // The loads of the last chunk begin at 70 and follow each other without a gap.
  EXPECT_EQ(asynchronous_end(equal_blocks(6, 2, 10, 10, 20)), 70 + 6 * 20);
}

// Equal blocks need k* chunks, so rounds begin with chunk C - k* + 1 (from 1).
TEST(GraphSwitch, of_equal_blocks_begins_as_many_chunks_before_the_end_as_a_load_takes_blocks) {
  for (int64_t k = 1; k <= 4; ++k) {
    const SwitchSchedule schedule = progressive_schedule(equal_blocks(4, 5, 10, 10, 10 * k));
    EXPECT_EQ(schedule.first_chunk + 1, 5 - k + 1) << k;
    EXPECT_EQ(schedule.end(), 200) << k;
    EXPECT_THAT(schedule.switched.back(), 4) << k;
  }
}

// Blocks of 10, 30 and 20 load in 25, 35 and 15. Block 3: 10 + 30 >= 15 needs two executions. Hence block 2 (load 35):
// 18 (block 3 on its decode graph) + 10 + 30 = 58 in the next chunk needs three.
TEST(GraphSwitch, adds_each_execution_on_its_present_graph_over_the_ends_of_chunks) {
  const GraphSwitchTimes times{2, {10, 30, 20}, {12, 33, 18}, {25, 35, 15}};
  const SwitchSchedule schedule = switch_rounds(times, 0);
  ASSERT_EQ(schedule.rounds.size(), 2u);
  EXPECT_EQ(schedule.rounds[0].block, 2);
  EXPECT_EQ(schedule.rounds[0].executions, 2);
  EXPECT_EQ(schedule.rounds[1].block, 1);
  EXPECT_EQ(schedule.rounds[1].executions, 3);
  EXPECT_EQ(schedule.rounds[1].chunk, 0);
  EXPECT_THAT(schedule.switched, ElementsAre(1, 2));
  // 10 + 30 + 18 + 10 + 30 + 18. Block 1 begins to load beside the last execution, of 18; 25 - 18 are left.
  EXPECT_EQ(schedule.prefill_end, 116);
  EXPECT_EQ(schedule.switch_end, 116 + 7);
}

// A load of 100 goes on beside all blocks of 10. It is reached before it is switched, and runs its prefill graph.
TEST(GraphSwitch, runs_the_prefill_graph_of_a_block_that_still_loads) {
  const GraphSwitchTimes times{1, {10, 10}, {50, 50}, {30, 100}};
  const SwitchSchedule schedule = switch_rounds(times, 0);
  EXPECT_THAT(schedule.rounds, IsEmpty());
  EXPECT_THAT(schedule.switched, ElementsAre(0));
  EXPECT_EQ(schedule.prefill_end, 20);
  EXPECT_EQ(schedule.switch_end, 20 + 80 + 30);
}

TEST(GraphSwitch, ends_the_switching_with_the_last_round) {
  const SwitchSchedule schedule = switch_rounds(equal_blocks(2, 3, 10, 10, 10), 0);
  EXPECT_EQ(schedule.switch_end, 20);
  EXPECT_EQ(schedule.prefill_end, 60);
  EXPECT_EQ(schedule.end(), 60);
  EXPECT_THAT(schedule.switched, ElementsAre(2, 2, 2));
}

// Rounds that begin early run slow decode graphs for long.
TEST(GraphSwitch, begins_where_the_end_is_least) {
  const GraphSwitchTimes slow = equal_blocks(2, 3, 10, 40, 10);
  const SwitchSchedule schedule = progressive_schedule(slow);
  EXPECT_EQ(schedule.first_chunk, 2);
  EXPECT_EQ(schedule.end(), 20 + 20 + 10 + 40);
  EXPECT_EQ(switch_rounds(slow, 0).end(), 10 + 40 + 80 + 80);
  // Loads behind the prefill cost 20 only.
  EXPECT_EQ(synchronous_end(slow), 80);
  EXPECT_EQ(asynchronous_end(slow), 70);
  EXPECT_EQ(best_way(slow, schedule), SwitchWay::asynchronous) << "the progressive way alone can lose";
}

TEST(GraphSwitch, takes_the_progressive_way_among_equals) {
  const GraphSwitchTimes free = equal_blocks(3, 2, 10, 10, 0);
  EXPECT_EQ(best_way(free, progressive_schedule(free)), SwitchWay::progressive);
  EXPECT_EQ(synchronous_end(free), progressive_schedule(free).end());
}

// The way and the chunk are asked for before each chunk, with the chunks that are left.
TEST(WayThatBegins, is_progressive_with_the_chunk_that_its_schedule_names) {
  for (int64_t k = 1; k <= 4; ++k) {
    for (int64_t left = 1; left <= 6; ++left) {
      const auto way = way_that_begins(equal_blocks(4, left, 10, 11, 10 * k), SwitchWay::progressive);
      const bool begins = progressive_schedule(equal_blocks(4, left, 10, 11, 10 * k)).first_chunk == 0;
      EXPECT_EQ(way, begins ? std::optional(SwitchWay::progressive) : std::nullopt) << k << " " << left;
    }
    EXPECT_FALSE(way_that_begins(equal_blocks(4, 5, 10, 10, 10 * k))) << k;
    EXPECT_EQ(way_that_begins(equal_blocks(4, k, 10, 10, 10 * k)), SwitchWay::progressive) << k;
  }
}

TEST(WayThatBegins, is_another_one_with_the_last_chunk_if_that_ends_first) {
  EXPECT_EQ(way_that_begins(equal_blocks(2, 2, 10, 40, 10)), std::nullopt);
  EXPECT_EQ(way_that_begins(equal_blocks(2, 1, 10, 40, 10)), SwitchWay::asynchronous);
  for (const SwitchWay way : {SwitchWay::synchronous, SwitchWay::asynchronous}) {
    EXPECT_EQ(way_that_begins(equal_blocks(6, 2, 10, 10, 20), way), std::nullopt);
    EXPECT_EQ(way_that_begins(equal_blocks(6, 1, 10, 10, 20), way), way) << "only the way that is asked for counts";
  }
}

// Loads of a hundred chunks' time begin that early, but a prompt of any length does not schedule all of its chunks.
TEST(WayThatBegins, is_not_looked_for_far_from_the_end) {
  EXPECT_EQ(way_that_begins(equal_blocks(4, 100000, 10, 9, 20)), std::nullopt);
  EXPECT_EQ(way_that_begins(equal_blocks(4, 101, 10, 10, 1000)), std::nullopt);
  EXPECT_EQ(way_that_begins(equal_blocks(4, 100, 10, 10, 1000)), SwitchWay::progressive);
}

// A single loader takes one block after the other, so no schedule ends before all loads could, or before the prefill.
TEST(GraphSwitch, of_random_times_keeps_its_rules) {
  std::mt19937 random(6);
  for (int round = 0; round < 500; ++round) {
    GraphSwitchTimes times;
    times.chunks = 1 + random() % 4;
    for (uint32_t block = 1 + random() % 5; block > 0; --block) {
      times.prefill.push_back(random() % 20);
      times.decode.push_back(random() % 30);
      times.load.push_back(random() % 60);
    }
    const SwitchSchedule best = progressive_schedule(times);
    ASSERT_EQ(std::ssize(best.switched), times.chunks);
    ASSERT_EQ(best.switched.back(), std::ssize(best.rounds));
    for (int64_t first = 0; first < times.chunks; ++first) {
      const SwitchSchedule one = switch_rounds(times, first);
      ASSERT_LE(best.end(), one.end());
      ASSERT_TRUE(one.end() > best.end() || first <= best.first_chunk) << "of equals the latest";
    }
    for (size_t i = 0; i < best.rounds.size(); ++i) {
      ASSERT_EQ(best.rounds[i].block, times.blocks() - 1 - static_cast<int64_t>(i));
      ASSERT_GE(best.rounds[i].chunk, best.first_chunk);
    }
  }
}

}  // namespace
}  // namespace tandem
