// Watching passes: what a record says of a pass, and that nothing is recorded for nobody.
#include "engine/run/serve/pass_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/engine/run/host_engine.h"

namespace tandem::testing {
namespace {

struct Watch : PassWatch {
  Detail wanted(int64_t tokens) override {
    asked.push_back(tokens);
    return detail;
  }
  void take(PassRecord record) override { records.push_back(std::move(record)); }
  Detail detail = Detail::pass;
  std::vector<int64_t> asked;
  std::vector<PassRecord> records;
};

GenerateOptions labelled(const std::string& label, int64_t tokens) {
  GenerateOptions options = so_many(tokens);
  options.label = label;
  return options;
}

class WatchedPasses : public ::testing::Test {
 protected:
  WatchedPasses() {
    EngineOptions options = engines_.options();
    options.sequences = options.logit_rows = 2;
    engine_ = Engine::open(options);
  }
  void run(Watch* watch, const std::vector<std::pair<std::string, int>>& texts, int64_t tokens) {
    Batcher batcher(*engine_, 2);
    batcher.watch(watch);
    for (const auto& [label, length] : texts)
      batcher.add(some_ids(length), labelled(label, tokens), [](const Batcher::Result& r) { EXPECT_FALSE(r.error); });
    while (batcher.step()) {
    }
  }
  const HostEngines engines_{"watched"};
  std::unique_ptr<Engine> engine_;
};

// A prompt of 70 tokens takes two passes of 64 and 6 tokens, and the first token comes with the second one.
TEST_F(WatchedPasses, say_which_tokens_of_which_text_they_had) {
  Watch watch;
  run(&watch, {{"long", 70}}, 3);
  ASSERT_EQ(watch.records.size(), 4u);
  const auto& [first, second, third, last] =
      std::tie(watch.records[0], watch.records[1], watch.records[2], watch.records[3]);
  EXPECT_EQ(first.texts.at(0).label, "long");
  EXPECT_TRUE(first.texts.at(0).is_prompt);
  EXPECT_EQ(first.tokens() + second.tokens(), 70);
  EXPECT_EQ(second.texts.at(0).position, first.tokens());
  EXPECT_EQ(first.written, 0);
  EXPECT_EQ(second.written, 1);
  EXPECT_FALSE(third.texts.at(0).is_prompt);
  EXPECT_EQ(third.texts.at(0).position, 70);
  EXPECT_EQ(last.texts.at(0).position, 71);
  EXPECT_EQ(watch.asked, (std::vector<int64_t>{first.tokens(), second.tokens(), 1, 1}));
  for (const PassRecord& each : watch.records) {
    EXPECT_LT(each.start_seconds, each.end_seconds);
    EXPECT_EQ(each.plan, "host-only");
    EXPECT_EQ(each.used_pages, 1);
    EXPECT_GT(each.pages, 1);
    EXPECT_TRUE(each.spans.empty()) << "steps were not wanted";
  }
}

TEST_F(WatchedPasses, name_all_texts_that_share_them) {
  Watch watch;
  run(&watch, {{"one", 4}, {"two", 5}}, 9);
  const auto shared = std::ranges::find(watch.records, 2u, [](const PassRecord& each) { return each.texts.size(); });
  ASSERT_NE(shared, watch.records.end());
  EXPECT_EQ(shared->texts[0].label, "one");
  EXPECT_EQ(shared->texts[1].label, "two");
  EXPECT_EQ(shared->written, 2);
}

TEST_F(WatchedPasses, have_steps_within_their_time_where_those_are_wanted) {
  Watch watch;
  watch.detail = PassWatch::Detail::steps;
  run(&watch, {{"one", 4}}, 3);
  ASSERT_FALSE(watch.records.empty());
  for (const PassRecord& each : watch.records) {
    int steps = 0;
    for (const Span& span : each.spans) {
      if (span.device.empty()) continue;
      ++steps;
      EXPECT_EQ(span.device, "host");
      EXPECT_GE(span.start_seconds, each.start_seconds);
      EXPECT_LE(span.end_seconds, each.end_seconds);
    }
    EXPECT_GT(steps, 0);
  }
  watch.detail = PassWatch::Detail::pass;
  watch.records.clear();
  run(&watch, {{"one", 9}}, 1);
  EXPECT_TRUE(watch.records.at(0).spans.empty()) << "the recording has ended";
}

// With --trace the whole run is recorded already. Each pass then gets its own spans, and the trace stays whole.
TEST_F(WatchedPasses, take_their_part_of_a_recording_that_goes_on) {
  Timeline whole;
  engine_->machine().record(&whole);
  Watch watch;
  watch.detail = PassWatch::Detail::steps;
  run(&watch, {{"one", 4}}, 3);
  engine_->machine().record(nullptr);
  size_t spans = 0;
  for (const PassRecord& each : watch.records) spans += each.spans.size();
  EXPECT_GT(spans, 0u);
  EXPECT_EQ(spans, whole.spans().size());
}

TEST_F(WatchedPasses, are_not_recorded_where_nothing_is_wanted) {
  Watch watch;
  watch.detail = PassWatch::Detail::nothing;
  run(&watch, {{"one", 4}}, 3);
  EXPECT_EQ(watch.asked.size(), 3u);
  EXPECT_TRUE(watch.records.empty());
  run(nullptr, {{"one", 6}}, 2);
  EXPECT_EQ(watch.asked.size(), 3u);
}

}  // namespace
}  // namespace tandem::testing
