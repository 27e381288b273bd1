#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <string>

#include "engine/moe/schedules/schedule_rule.h"
#include "sync/error.h"
#include "tests/engine/moe/schedules/plain_greedy.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::LayerCase;
using testing::plain_greedy;

ExpertSchedule by(const char* name, const LayerCase& of) {
  const ScheduleRule* rule = find_schedule_rule(name);
  EXPECT_NE(rule, nullptr) << name;
  return rule->make(of.layer());
}

// The figure's example: A to E are 0 to 4. The GPU takes 1, the processor the load, and a transfer 3.
const LayerCase kFigure{{4, 3, 5, 1, 2}, {0, 1, 4}, {.cpu_per_token = 1, .gpu_fixed = 1, .transfer = 3}};

// GPU: A 0-1, B 1-2, C 3-4, which arrives at 3. Processor: D 0-1, E 1-3: before the GPU would be through at 4.
TEST(Schedules, of_the_papers_figure_let_the_gpu_take_c_and_the_processor_e) {
  const ExpertSchedule greedy = by("greedy", kFigure);
  EXPECT_EQ(greedy.makespan(), 4);
  EXPECT_EQ(greedy.cpu_end, 3);
  EXPECT_THAT(greedy.on(ExpertLane::gpu), ElementsAre(0, 1, 2));
  EXPECT_THAT(greedy.on(ExpertLane::cpu), ElementsAre(3, 4));
  EXPECT_THAT(greedy.on(ExpertLane::link), ElementsAre(2));
  EXPECT_THAT(greedy.spans, ::testing::Contains(ExpertSpan{ExpertLane::gpu, 2, 3, 4}));
  EXPECT_THAT(greedy.spans, ::testing::Contains(ExpertSpan{ExpertLane::cpu, 4, 1, 3}));
}

// Fixed: the processor has C and D, 5 + 1. On demand: C arrives at 3 and D at 6.
TEST(Schedules, of_the_papers_figure_take_6_fixed_and_7_on_demand) {
  EXPECT_EQ(by("fixed", kFigure).makespan(), 6);
  EXPECT_EQ(by("gpu-only", kFigure).makespan(), 7);
  EXPECT_THAT(by("gpu-only", kFigure).on(ExpertLane::link), ElementsAre(2, 3));
  EXPECT_THAT(by("gpu-only", kFigure).on(ExpertLane::cpu), IsEmpty());
  EXPECT_EQ(by("no-transfer", kFigure).makespan(), 6);
  EXPECT_EQ(by("two-ended", kFigure).makespan(), 4);
  EXPECT_EQ(by("counts", kFigure).makespan(), 4);
  EXPECT_EQ(by("best", kFigure).makespan(), 4);
  EXPECT_EQ(by("optimum", kFigure).makespan(), 4);
}

// Each takes 2 on either side. The GPU takes 0, the processor 2, and 1 is through at 4 on the GPU.
TEST(Greedy, lets_the_processor_take_of_equal_cached_experts_the_higher_id) {
  const LayerCase equal{{2, 2, 2}, {0, 1, 2}, {.cpu_per_token = 1, .gpu_fixed = 2}};
  EXPECT_THAT(by("greedy", equal).on(ExpertLane::cpu), ElementsAre(2));
  EXPECT_THAT(by("greedy", equal).on(ExpertLane::gpu), ElementsAre(0, 1));
}

// The GPU would be through at 4, and the processor would end expert 1 at 4 as well.
TEST(Greedy, leaves_a_cached_expert_that_would_not_end_before_the_gpu_is_through) {
  LayerCase equal{{2, 2}, {0, 1}, {.cpu_per_token = 2, .gpu_fixed = 2}};
  EXPECT_THAT(by("greedy", equal).on(ExpertLane::cpu), IsEmpty());
  equal.costs.cpu_per_token = 1.9;
  EXPECT_THAT(by("greedy", equal).on(ExpertLane::cpu), ElementsAre(1));
  equal.costs.cpu_first = 0.3;
  EXPECT_THAT(by("greedy", equal).on(ExpertLane::cpu), IsEmpty()) << "its first expert ends at 4.1";
}

// The processor takes 0 until 10. The link moves 1 until 1 and 2 until 2, and the GPU computes each when it arrives.
TEST(Greedy, takes_of_equal_loads_the_lower_id_first) {
  const LayerCase equal{{3, 3, 3}, {}, {.cpu_fixed = 10, .gpu_fixed = 1, .transfer = 1}};
  const ExpertSchedule schedule = by("greedy", equal);
  EXPECT_THAT(schedule.on(ExpertLane::cpu), ElementsAre(0));
  EXPECT_THAT(schedule.on(ExpertLane::link), ElementsAre(1, 2));
  EXPECT_EQ(schedule.gpu_end, 3);
}

// At 0 all clocks are equal: the GPU has nothing, then the processor acts before the link, which would have taken the
// only expert.
TEST(Greedy, asks_the_processor_before_the_link_at_equal_clocks) {
  const LayerCase one{{1}, {}, {.cpu_fixed = 9, .gpu_fixed = 1, .transfer = 1}};
  EXPECT_THAT(by("greedy", one).on(ExpertLane::cpu), ElementsAre(0));
  EXPECT_EQ(by("greedy", one).makespan(), 9);
  EXPECT_EQ(by("best", one).makespan(), 2) << "on demand";
}

// Expert 1 (load 5) arrives at 1, while the GPU computes 2 until 2. It goes before 0, whose load is 1.
TEST(Greedy, computes_of_what_has_arrived_the_highest_load) {
  const LayerCase mixed{{1, 5, 3, 4}, {0, 2}, {.cpu_fixed = 20, .gpu_fixed = 2, .transfer = 1}};
  EXPECT_THAT(by("greedy", mixed).on(ExpertLane::gpu), ElementsAre(2, 1, 0));
}

TEST(Greedy, begins_behind_the_shared_experts) {
  const LayerCase shared{{1}, {0}, {.cpu_fixed = 9, .gpu_fixed = 1, .gpu_offset = 2.5}};
  EXPECT_EQ(by("greedy", shared).gpu_end, 3.5);
  EXPECT_EQ(by("fixed", {{1}, {}, shared.costs}).gpu_end, 2.5) << "the shared experts alone";
}

// The link begins at 2: expert 0 arrives at 3 and ends at 4, and expert 1 at 5. The processor needs 9 for each.
TEST(Schedules, begin_transfers_behind_the_hand_over_to_the_link) {
  const LayerCase late{{1, 1}, {}, {.cpu_fixed = 9, .gpu_fixed = 1, .transfer = 1, .link_offset = 2}};
  for (const char* name : {"gpu-only", "counts", "refined", "two-ended", "optimum"}) {
    EXPECT_EQ(by(name, late).makespan(), 5) << name;
    EXPECT_EQ(by(name, late).spans.front().begin, 2) << name;
  }
  const LayerCase small{{1, 1}, {}, {.cpu_fixed = 2, .gpu_fixed = 1, .transfer = 1, .link_offset = 2}};
  EXPECT_THAT(best_schedule(small.layer()).schedule.on(ExpertLane::link), IsEmpty()) << "4 units without the link";
}

// Expert 0 by itself ends at 4 on the GPU and at 5 on the processor; expert 1 at 4 and 1. Expert 2 is cached.
TEST(Fiddler, moves_each_missing_expert_where_it_ends_sooner_by_itself) {
  const LayerCase made{{5, 1, 2}, {2}, {.cpu_per_token = 1, .gpu_fixed = 1, .transfer = 3}};
  const ExpertSchedule schedule = by("fiddler", made);
  EXPECT_THAT(schedule.on(ExpertLane::link), ElementsAre(0));
  EXPECT_THAT(schedule.on(ExpertLane::cpu), ElementsAre(1));
  EXPECT_THAT(schedule.on(ExpertLane::gpu), ElementsAre(2, 0));
  const LayerCase tie{{4}, {}, made.costs};
  EXPECT_THAT(by("fiddler", tie).on(ExpertLane::cpu), ElementsAre(0)) << "of equal ends the processor";
}

// The list is 1 (load 4, cached), 0 (2, cached), 2 (3). GPU 1: 2. Processor 2: 3. The GPU takes 1 (2 <= 3), then 0
// would end at 4 and the processor's 2 at 3, so the processor takes it. The GPU takes 0: 4 against 5.
TEST(TwoEnded, takes_from_both_ends_whichever_ends_first) {
  const LayerCase list{{2, 4, 3}, {0, 1}, {.cpu_per_token = 1, .gpu_fixed = 2, .transfer = 1}};
  const ExpertSchedule schedule = by("two-ended", list);
  EXPECT_THAT(schedule.on(ExpertLane::gpu), ElementsAre(1, 0));
  EXPECT_THAT(schedule.on(ExpertLane::cpu), ElementsAre(2));
  EXPECT_EQ(schedule.makespan(), 4);
  const LayerCase tie{{3}, {}, {.cpu_per_token = 1, .gpu_fixed = 1, .transfer = 2}};
  EXPECT_THAT(by("two-ended", tie).on(ExpertLane::gpu), ElementsAre(0)) << "of equal ends the GPU";
}

// Two cached of load 2 and one uncached of load 9. One cached expert on the processor: it ends at 2, and the GPU has
// the other and the moved one, 1 + 1. Expert 2 is the one, not expert 1.
TEST(Counts, gives_the_processor_of_equal_cached_experts_the_higher_id) {
  const LayerCase equal{{9, 2, 2}, {1, 2}, {.cpu_per_token = 1, .gpu_fixed = 2, .transfer = 1}};
  const ExpertSchedule schedule = by("counts", equal);
  EXPECT_THAT(schedule.on(ExpertLane::cpu), ElementsAre(2));
  EXPECT_THAT(schedule.on(ExpertLane::link), ElementsAre(0));
  EXPECT_EQ(schedule.makespan(), 4);
}

TEST(Counts, moves_the_fewest_experts_of_equal_makespans) {
  const LayerCase equal{{2}, {}, {.cpu_per_token = 1, .gpu_fixed = 1, .transfer = 1}};
  EXPECT_THAT(by("counts", equal).on(ExpertLane::cpu), ElementsAre(0)) << "2 on either side";
}

// ---- all schedules, on made-up cases

class Cases {
 public:
  explicit Cases(uint64_t seed) : random_(seed) {}
  int64_t whole(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  double real(double low, double high) { return low + (high - low) * static_cast<double>(random_() >> 11) * 0x1p-53; }
  LayerCase experts(int64_t count, int64_t most_load) {
    LayerCase made;
    for (int64_t i = 0; i < count; ++i) {
      made.loads.push_back(whole(1, most_load));
      if (whole(0, 1) == 1) made.cached.push_back(static_cast<int32_t>(i));
    }
    return made;
  }
  // Small whole costs, so that many clocks and loads are equal.
  LayerCase with_ties(int64_t count) {
    LayerCase made = experts(count, 4);
    const auto cost = [&](int64_t low, int64_t high) { return static_cast<double>(whole(low, high)); };
    made.costs = {cost(0, 2), cost(0, 2), cost(0, 1), cost(0, 2), 0, cost(0, 2), cost(0, 3)};
    return made;
  }
  LayerCase of_a_machine(int64_t count) {
    LayerCase made = experts(count, 10);
    made.costs = {real(0, 2), real(0.1, 2), real(0, 1), real(0.1, 2), whole(0, 1) == 0 ? 0 : real(0, 0.2),
                  real(0, 2), real(0.5, 6)};
    return made;
  }

 private:
  std::mt19937_64 random_;  // the same numbers everywhere
};

TEST(Greedy, is_what_plain_loops_over_lists_give) {
  Cases cases(1);
  for (int i = 0; i < 3000; ++i) {
    const int64_t count = cases.whole(1, 12);
    const LayerCase made = i % 2 == 0 ? cases.with_ties(count) : cases.of_a_machine(count);
    ASSERT_EQ(by("greedy", made).spans, plain_greedy(made)) << "case " << i;
  }
}

// Every expert is computed once. A lane does one thing at a time, and a moved expert waits for its transfer.
void expect_sound(const LayerCase& made, const ExpertSchedule& schedule, const std::string& name) {
  std::vector<int> computed(made.loads.size()), moved(made.loads.size());
  std::map<ExpertLane, double> clock{{ExpertLane::gpu, made.costs.gpu_offset}};
  std::map<int32_t, double> arrival;
  for (const int32_t id : made.cached) arrival[id] = 0;
  for (const ExpertSpan& span : schedule.spans)
    if (span.lane == ExpertLane::link) arrival[span.expert] = span.end;
  bool first = true;
  for (const ExpertSpan& span : schedule.spans) {
    EXPECT_GE(span.begin, clock[span.lane]) << name;
    clock[span.lane] = span.end;
    const auto id = static_cast<size_t>(span.expert);
    ++(span.lane == ExpertLane::link ? moved : computed)[id];
    if (span.lane == ExpertLane::gpu) {
      ASSERT_TRUE(arrival.contains(span.expert)) << name;
      EXPECT_GE(span.begin, arrival[span.expert]) << name;
    }
    const double length = span.lane == ExpertLane::gpu    ? made.gpu(span.expert)
                          : span.lane == ExpertLane::link ? made.costs.transfer
                                                          : made.cpu(span.expert) + (first ? made.costs.cpu_first : 0);
    first = first && span.lane != ExpertLane::cpu;
    EXPECT_NEAR(span.end - span.begin, length, 1e-9) << name;
  }
  EXPECT_THAT(computed, ::testing::Each(1)) << name;
  for (const int32_t id : schedule.on(ExpertLane::link)) {
    EXPECT_EQ(std::ranges::count(made.cached, id), 0) << name << " moves what is there";
    EXPECT_EQ(std::ranges::count(schedule.on(ExpertLane::gpu), id), 1) << name << " moves what it does not use";
  }
  EXPECT_EQ(schedule.cpu_end, clock[ExpertLane::cpu]) << name;
  EXPECT_EQ(schedule.gpu_end, clock[ExpertLane::gpu]) << name;
}

TEST(Schedules, compute_every_expert_once_and_after_it_has_arrived) {
  Cases cases(2);
  for (int i = 0; i < 500; ++i) {
    const LayerCase made = i % 2 == 0 ? cases.with_ties(cases.whole(1, 12)) : cases.of_a_machine(cases.whole(1, 12));
    for (const ScheduleRule* rule : schedule_rules()) expect_sound(made, rule->make(made.layer()), rule->name);
  }
}

// The least end of the GPU over all orders of transfers and of computing: each list is worked off in its order.
double least_gpu_end(const LayerCase& made, std::vector<int32_t> ids) {
  std::vector<int32_t> transfers;
  for (const int32_t id : ids)
    if (std::ranges::count(made.cached, id) == 0) transfers.push_back(id);
  double least = std::numeric_limits<double>::infinity();
  std::ranges::sort(ids);
  do {
    std::map<int32_t, double> arrival;
    double link = 0;
    for (const int32_t id : transfers) arrival[id] = link += made.costs.transfer;
    do {
      double end = made.costs.gpu_offset;
      for (const int32_t id : ids) end = std::max(end, arrival[id]) + made.gpu(id);
      least = std::min(least, end);
    } while (std::ranges::next_permutation(ids).found);
  } while (std::ranges::next_permutation(transfers).found);
  return least;
}

double least_of_everything(const LayerCase& made) {
  double least = std::numeric_limits<double>::infinity();
  for (unsigned set = 0; set < 1u << made.loads.size(); ++set) {
    std::vector<int32_t> on_gpu;
    double cpu = set == 0 ? 0 : made.costs.cpu_first;
    for (int32_t id = 0; id < std::ssize(made.loads); ++id) {
      if ((set >> id & 1u) != 0)
        cpu += made.cpu(id);
      else
        on_gpu.push_back(id);
    }
    least = std::min(least, std::max(cpu, least_gpu_end(made, on_gpu)));
  }
  return least;
}

TEST(Optimum, is_the_least_of_all_sets_and_all_orders) {
  Cases cases(3);
  for (int i = 0; i < 150; ++i) {
    const LayerCase made = i % 3 == 0 ? cases.with_ties(cases.whole(1, 4)) : cases.of_a_machine(cases.whole(1, 4));
    EXPECT_NEAR(by("optimum", made).makespan(), least_of_everything(made), 1e-9) << "case " << i;
  }
}

struct Beside {
  double sum = 0, worst = 0;
  int close = 0;  // within 5 %
};

// The sums are of these cases alone; the bounds are those that a layer's default must keep.
TEST(Schedules, of_random_cases_are_as_good_as_they_are_said_to_be) {
  Cases cases(4);
  constexpr int kCases = 2000;
  std::map<std::string, Beside> beside;
  for (int i = 0; i < kCases; ++i) {
    const LayerCase made = cases.of_a_machine(cases.whole(4, 9));
    const double optimum = by("optimum", made).makespan();
    const auto add = [&](const std::string& name, double makespan) {
      const double ratio = makespan / optimum;
      EXPECT_GE(ratio, 1 - 1e-9) << name;
      Beside& sum = beside[name];
      sum.sum += ratio;
      sum.worst = std::max(sum.worst, ratio);
      sum.close += ratio <= 1.05;
      if (name == "counts" && made.costs.gpu_per_token == 0) {
        EXPECT_LE(ratio, 1 + 1e-9) << "case " << i;
      }
    };
    for (const ScheduleRule* rule : schedule_rules()) add(rule->name, rule->make(made.layer()).makespan());
    add("the default", best_schedule(made.layer()).schedule.makespan());
  }
  for (const auto& [name, sum] : beside)
    std::printf("%-12s mean %.4f worst %.2f within 5 %% in %.2f %%\n", name.c_str(), sum.sum / kCases, sum.worst,
                100.0 * sum.close / kCases);
  EXPECT_GE(beside["the default"].close, kCases * 99 / 100);
  EXPECT_LE(beside["best"].sum, beside["greedy"].sum);
  EXPECT_LE(beside["refined"].sum, beside["counts"].sum);
  EXPECT_GT(beside["greedy"].worst, 2) << "a greedy step may make things worse";
}

TEST(Schedules, of_many_experts_end_no_later_than_their_parts) {
  Cases cases(5);
  for (const int64_t count : {64, 256}) {
    const LayerCase made = cases.of_a_machine(count);
    const BestSchedule best = best_schedule(made.layer());
    expect_sound(made, best.schedule, best.rule->name);
    for (const ScheduleRule* rule : schedule_rules()) {
      if (rule->most_experts > 0) continue;
      EXPECT_GE(rule->make(made.layer()).makespan(), best.schedule.makespan()) << rule->name;
    }
  }
}

TEST(Schedules, say_how_long_deciding_takes) {
  Cases cases(6);
  for (const int64_t count : {8, 64}) {
    std::vector<LayerCase> made;
    for (int i = 0; i < 50; ++i) made.push_back(cases.of_a_machine(count));
    double sum = 0;
    const auto begin = std::chrono::steady_clock::now();
    for (const LayerCase& each : made) sum += best_schedule(each.layer()).schedule.makespan();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    std::printf("%lld experts: %.2f us\n", static_cast<long long>(count), took.count() / 50);
    EXPECT_GT(sum, 0);
  }
}

TEST(Schedules, of_no_experts_are_empty) {
  for (const ScheduleRule* rule : schedule_rules()) {
    const ExpertSchedule schedule = rule->make(LayerCase{{}, {}, {.gpu_offset = 2}}.layer());
    EXPECT_THAT(schedule.spans, IsEmpty()) << rule->name;
    EXPECT_EQ(schedule.makespan(), 2) << rule->name;
  }
}

// ---- bad input

std::string failure_of(const LayerCase& made) {
  try {
    made.layer();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(LayerExperts, name_the_expert_or_the_cost_that_is_wrong) {
  EXPECT_THAT(failure_of({{1, 0}, {}, {}}), HasSubstr("expert 1"));
  EXPECT_THAT(failure_of({{1, 1}, {2}, {}}), HasSubstr("expert 2"));
  EXPECT_THAT(failure_of({{1, 1}, {-1}, {}}), HasSubstr("expert -1"));
  EXPECT_THAT(failure_of({{1, 1}, {1, 1}, {}}), HasSubstr("cached twice"));
  EXPECT_THAT(failure_of({{1}, {}, {.transfer = -1}}), HasSubstr("transfer"));
  EXPECT_THAT(failure_of({{1}, {}, {.gpu_fixed = std::nan("")}}), HasSubstr("gpu_fixed"));
}

TEST(Optimum, refuses_more_experts_than_it_can_try) {
  EXPECT_THROW(by("optimum", {std::vector<int64_t>(13, 1), {}, {.cpu_fixed = 1}}), Error);
  EXPECT_NO_THROW(by("optimum", {std::vector<int64_t>(12, 1), {}, {.cpu_fixed = 1}}));
}

}  // namespace
}  // namespace tandem
