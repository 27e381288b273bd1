// Measurements of devices become spans, and spans become a table, on passes worked out by hand.
#include "engine/measure/breakdown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/run/pass/timeline_pass.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Operator add(const std::string& name) { return {name, Add{1, 100, {}, {}, 100, 100}}; }
Operator softmax(const std::string& name) { return {name, Softmax{1, 50, {}, 50}}; }

// gpu runs a (an addition, a softmax), then c. c waits for b on npu, and b waits for a.
Plan three_steps() {
  Plan plan;
  plan.name = "plan";
  plan.devices = {"gpu", "npu"};
  plan.steps = {{0, {add("a1"), softmax("a2")}, {}, true}, {1, {add("b")}, {0}, true}, {0, {softmax("c")}, {1}, true}};
  return plan;
}

// In seconds: a1 runs in two launches from 10.1 to 10.3, a2 until 10.4, b from 10.5 to 10.8, c from 10.9 to 11.0. The
// run lasts from 10.0 to 11.1.
std::vector<std::vector<StepSpan>> measured() {
  return {{{0, 0, 10.1, 10.2}, {0, 0, 10.2, 10.3}, {0, 1, 10.3, 10.4}, {2, 0, 10.9, 11.0}}, {{1, 0, 10.5, 10.8}}};
}

Timeline timeline_of(const std::vector<std::vector<StepSpan>>& spans) {
  Timeline timeline;
  add_pass(timeline, three_steps(), spans, 10.0, 11.1);
  return timeline;
}

const Span* find(const Timeline& timeline, const std::string& track, const std::string& name) {
  for (const Span& span : timeline.spans()) {
    if (span.track == track && span.name == name) return &span;
  }
  return nullptr;
}

TEST(TimelinePass, has_one_span_a_launch_with_the_work_on_the_first_of_each_operator) {
  const Timeline timeline = timeline_of(measured());
  std::vector<double> flops;
  for (const Span& span : timeline.spans()) {
    if (span.track == "gpu") flops.push_back(span.flops);
  }
  EXPECT_THAT(flops, ElementsAre(100, 0, 200, 200));
  EXPECT_EQ(find(timeline, "gpu", "a2")->what, "softmax");
  EXPECT_EQ(find(timeline, "npu", "b")->what, "add");
  EXPECT_EQ(timeline.spans().back().track, kPassTrack);
}

TEST(TimelinePass, a_device_waits_until_the_steps_it_waits_for_have_ended_and_no_longer) {
  const Timeline timeline = timeline_of(measured());
  const Span* gpu = find(timeline, "waits of gpu", "before c");
  ASSERT_NE(gpu, nullptr);
  EXPECT_DOUBLE_EQ(gpu->start_seconds, 10.4);
  EXPECT_DOUBLE_EQ(gpu->end_seconds, 10.8) << "from there to 10.9 it noticed and launched";
  const Span* npu = find(timeline, "waits of npu", "before b");
  ASSERT_NE(npu, nullptr);
  EXPECT_DOUBLE_EQ(npu->start_seconds, 10.0);
  EXPECT_DOUBLE_EQ(npu->end_seconds, 10.4);
}

TEST(TimelinePass, a_step_whose_awaited_ones_ended_before_does_not_wait) {
  auto spans = measured();
  spans[1][0].start_seconds = 10.2, spans[1][0].end_seconds = 10.3;
  EXPECT_EQ(find(timeline_of(spans), "waits of gpu", "before c"), nullptr);
}

TEST(TimelinePass, a_device_that_measures_whole_steps_has_one_span_of_each_with_all_its_work) {
  auto spans = measured();
  spans[0] = {{0, -1, 10.1, 10.4}, {2, -1, 10.9, 11.0}};
  const Timeline timeline = timeline_of(spans);
  const Span* first = find(timeline, "gpu", "a1 .. a2");
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->what, "several");
  EXPECT_EQ(first->flops, 300);
  EXPECT_EQ(find(timeline, "gpu", "c")->what, "softmax");
}

const BreakdownLine& line(const Breakdown& breakdown, const std::string& device, const std::string& what) {
  for (const BreakdownLine& each : breakdown.lines) {
    if (each.device == device && each.what == what) return each;
  }
  throw std::out_of_range(device + " " + what);
}

TEST(Breakdown, sorts_a_devices_time_by_kind_and_adds_up_to_the_wall_clock) {
  const Breakdown breakdown = break_down(timeline_of(measured()));
  EXPECT_NEAR(breakdown.wall_seconds, 1.1, 1e-9);
  EXPECT_EQ(breakdown.passes, 1);
  EXPECT_FALSE(breakdown.alone);
  std::vector<std::string> gpu;
  for (const BreakdownLine& each : breakdown.lines) {
    if (each.device == "gpu") gpu.push_back(each.what);
  }
  EXPECT_THAT(gpu, ElementsAre("add", "softmax", Breakdown::kWaits, Breakdown::kIdle));
  EXPECT_NEAR(line(breakdown, "gpu", "add").seconds, 0.2, 1e-9);
  EXPECT_EQ(line(breakdown, "gpu", "add").launches, 2);
  EXPECT_EQ(line(breakdown, "gpu", "add").flops, 100);
  EXPECT_NEAR(line(breakdown, "gpu", "softmax").seconds, 0.2, 1e-9);
  EXPECT_EQ(line(breakdown, "gpu", "softmax").flops, 400);
  EXPECT_NEAR(line(breakdown, "gpu", Breakdown::kWaits).seconds, 0.4, 1e-9);
  EXPECT_NEAR(line(breakdown, "gpu", Breakdown::kIdle).seconds, 0.3, 1e-9) << "10.0-10.1, 10.8-10.9, 11.0-11.1";
  EXPECT_NEAR(line(breakdown, "npu", Breakdown::kIdle).seconds, 0.4, 1e-9) << "10.4-10.5, 10.8-11.1";
  EXPECT_NEAR(breakdown.sum_of("gpu"), 1.1, 1e-9);
  EXPECT_NEAR(breakdown.sum_of("npu"), 1.1, 1e-9);
  EXPECT_THAT(breakdown.complaints(), IsEmpty());
}

TEST(Breakdown, adds_up_passes_and_counts_a_device_that_one_leaves_out_as_idle_there) {
  Timeline timeline = timeline_of(measured());
  add_pass(timeline, three_steps(), std::vector<std::vector<StepSpan>>{{{0, 0, 20.0, 20.5}}, {}}, 20.0, 21.0);
  const Breakdown breakdown = break_down(timeline);
  EXPECT_EQ(breakdown.passes, 2);
  EXPECT_NEAR(breakdown.wall_seconds, 2.1, 1e-9);
  EXPECT_NEAR(line(breakdown, "npu", Breakdown::kIdle).seconds, 1.4, 1e-9);
  EXPECT_NEAR(line(breakdown, "gpu", "add").seconds, 0.7, 1e-9);
}

TEST(Breakdown, leaves_out_what_is_modelled) {
  Timeline timeline;
  timeline.add({"npu (model clock)", "b", 10.5, 10.6, 1, 1, 0, true});
  add_pass(timeline, three_steps(), measured(), 10.0, 11.1);
  EXPECT_EQ(break_down(timeline).lines.size(), break_down(timeline_of(measured())).lines.size());
}

TEST(Breakdown, leaves_out_modelled_time_that_names_its_device) {
  Timeline timeline;
  Span modelled{"npu (model clock)", "b", 10.5, 10.6, 1, 1, 0, true};
  modelled.device = "npu";
  modelled.what = "add";
  timeline.add(modelled);
  add_pass(timeline, three_steps(), measured(), 10.0, 11.1);
  EXPECT_NEAR(line(break_down(timeline), "npu", "add").seconds, 0.3, 1e-9);
}

// While it records, a device may report a launch within another one.
TEST(Breakdown, counts_time_within_a_longer_span_as_no_gap) {
  auto spans = measured();
  spans[0] = {{0, 0, 10.1, 10.5}, {0, 1, 10.2, 10.3}, {2, 0, 10.9, 11.0}};
  const Breakdown breakdown = break_down(timeline_of(spans));
  EXPECT_NEAR(line(breakdown, "gpu", Breakdown::kIdle).seconds, 0.3, 1e-9) << "10.0-10.1, 10.8-10.9, 11.0-11.1";
}

TEST(Breakdown, names_the_device_whose_spans_overlap_or_leave_the_pass) {
  auto spans = measured();
  spans[1][0].end_seconds = 11.5;  // ends 0.4 s after the run
  const auto complaints = break_down(timeline_of(spans)).complaints();
  ASSERT_EQ(complaints.size(), 1u);
  EXPECT_THAT(complaints[0], HasSubstr("npu"));
  EXPECT_THAT(complaints[0], HasSubstr("400.000 ms more"));
}

TEST(Breakdown, remembers_that_something_was_launched_by_itself_to_be_recorded) {
  auto spans = measured();
  spans[0][3].alone = true;
  EXPECT_TRUE(break_down(timeline_of(spans)).alone);
}

}  // namespace
}  // namespace tandem
