#include "engine/run/pass/timeline.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/run/pass/timeline_pass.h"
#include "sync/error.h"
#include "tests/support/scratch_folder.h"

namespace tandem {
namespace {

Timeline two_tracks() {
  Timeline timeline;
  timeline.add({"opencl:0", "norm", 10.0, 10.5, 64, 128, 0, false});
  timeline.add({"opencl:0", "matmul", 11.0, 12.0, 0, 0, 0, false});
  timeline.add({"npu:0 (model clock)", "matmul", 10.5, 10.6, 0, 0, 0.25, true});
  return timeline;
}

TEST(Timeline, adds_up_the_time_a_track_was_busy) {
  EXPECT_DOUBLE_EQ(two_tracks().busy_seconds("opencl:0"), 1.5);
  EXPECT_EQ(two_tracks().busy_seconds("nobody"), 0);
}

TEST(Timeline, writes_one_thread_per_track_with_microseconds_from_the_first_span) {
  const auto trace = nlohmann::json::parse(two_tracks().trace_json());
  std::map<int, std::string> tracks;
  std::vector<nlohmann::json> spans;
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("name") == "thread_name") tracks[event.at("tid")] = event.at("args").at("name");
    if (event.at("ph") == "X") spans.push_back(event);
  }
  ASSERT_EQ(tracks.size(), 2u);
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_EQ(tracks[spans[0].at("tid")], "opencl:0");
  EXPECT_DOUBLE_EQ(spans[0].at("ts"), 0);
  EXPECT_DOUBLE_EQ(spans[1].at("ts"), 1e6);
  EXPECT_DOUBLE_EQ(spans[1].at("dur"), 1e6);
  EXPECT_EQ(spans[0].at("args").at("flops"), 128);
}

// Devices return their spans one device after the other.
TEST(Timeline, begins_with_the_earliest_span_wherever_it_stands) {
  Timeline timeline = two_tracks();
  timeline.add({"npu:0", "earlier", 9.0, 9.5, 0, 0, 0, false});
  const auto trace = nlohmann::json::parse(timeline.trace_json());
  std::map<std::string, double> starts;
  for (const auto& event : trace.at("traceEvents"))
    if (event.at("ph") == "X") starts[event.at("name")] = event.at("ts");
  EXPECT_DOUBLE_EQ(starts.at("earlier"), 0);
  EXPECT_DOUBLE_EQ(starts.at("norm"), 1e6);
}

TEST(Timeline, marks_measured_and_modelled_time) {
  const auto trace = nlohmann::json::parse(two_tracks().trace_json());  // lives longer than the loop over a part of it
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    const bool model_clock = event.at("args").contains("joules");
    EXPECT_EQ(event.at("args").at("clock"), model_clock ? "modelled" : "measured");
  }
}

// A server may record for days. Places of spans count the dropped ones, so a pass finds its own spans.
TEST(Timeline, keeps_the_last_spans_of_many) {
  Timeline timeline(4);
  for (int i = 0; i < 101; ++i) {
    const size_t first = timeline.count();
    timeline.add({i % 2 ? "npu:0" : "opencl:0", std::to_string(i), 1.0 * i, 1.0 * i + 1});
    ASSERT_EQ(timeline.count(), static_cast<size_t>(i) + 1);
    ASSERT_EQ(timeline.since(first).size(), 1u);
    ASSERT_EQ(timeline.since(first).front().name, std::to_string(i));
    ASSERT_LE(timeline.spans().size(), 4u);
    ASSERT_GE(timeline.spans().size(), std::min(static_cast<size_t>(i) + 1, size_t{2})) << "half stay";
  }
  EXPECT_EQ(timeline.dropped() + timeline.spans().size(), 101u);
  EXPECT_EQ(timeline.since(0).size(), timeline.spans().size()) << "all that are kept";
  const size_t kept = timeline.spans().size();
  const std::vector<Span> last = timeline.remove("opencl:0", 100);
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last.front().name, "100");
  EXPECT_EQ(timeline.spans().size(), kept - 1);
}

// A pass of three fragments, behind a pass that was none.
TEST(Timeline, joins_the_passes_of_fragments_into_one_that_comes_last) {
  Timeline timeline;
  timeline.add({kPassTrack, "before", 1, 2});
  const size_t first = timeline.spans().size();
  for (const double start : {3.0, 5.0, 7.0}) {
    timeline.add({"npu:0", "matmul", start, start + 1});
    timeline.add({kPassTrack, "fragments", start, start + 1});
  }
  timeline.add({"loads", "load", 3, 4});
  join_passes(timeline, first);
  std::vector<std::string> names;
  for (const Span& span : timeline.spans()) names.push_back(span.name);
  EXPECT_EQ(names, (std::vector<std::string>{"before", "matmul", "matmul", "matmul", "load", "fragments"}));
  EXPECT_EQ(timeline.spans().back().start_seconds, 3);
  EXPECT_EQ(timeline.spans().back().end_seconds, 8);
  join_passes(timeline, timeline.spans().size());
  EXPECT_EQ(timeline.spans().size(), names.size()) << "without a pass nothing is added";
}

TEST(Timeline, leaves_no_file_behind_when_it_cannot_write_one) {
  EXPECT_THROW(two_tracks().write_trace("/proc/no/such/folder/trace.json"), Error);
  const testing::ScratchFolder folder;
  const std::string path = folder.file("trace.json");
  two_tracks().write_trace(path);
  EXPECT_GT(std::filesystem::file_size(path), 100u);
}

}  // namespace
}  // namespace tandem
