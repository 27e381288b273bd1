// Long prompts in pieces, and the state that an engine keeps between pieces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "sync/long_wait.h"
#include "tests/engine/run/host_engine.h"

namespace tandem::testing {
namespace {

using ::testing::HasSubstr;

std::vector<float> last_logits(Engine& engine, Sequence& text, std::span<const int32_t> ids) {
  const Logits logits = extend(engine, text, ids);
  return {logits.begin(), logits.end()};
}
std::vector<float> last_logits(Engine& engine, std::span<const int32_t> ids) {
  Sequence text = engine.cache().new_sequence();
  return last_logits(engine, text, ids);
}

// A token's logits depend on the tokens before it, and not on the pieces that held them.
TEST(Chunks, of_a_prompt_give_the_bits_of_the_whole) {
  const HostEngines engines("pieces");
  const std::vector<int32_t> prompt = some_ids(50);
  const std::vector<float> expected = last_logits(*engines.open(64), prompt);
  for (const int64_t chunk : {1, 7, 25, 49}) {
    const auto engine = engines.open(chunk);
    Sequence text = engine->cache().new_sequence();
    EXPECT_EQ(last_logits(*engine, text, prompt), expected) << "in pieces of " << chunk;
    EXPECT_EQ(text.position(), 50);
  }
}

TEST(Chunks, only_the_last_one_has_logits) {
  const auto engine = HostEngines("logit rows").open(20);
  PassPlans& plans = engine->plans();
  EXPECT_EQ(plans.chunks_of(0, 50), (std::vector<Batch>{{20, 0}, {20, 0}, {10, 1}}));
  EXPECT_EQ(plans.chunks_of(0, 20), (std::vector<Batch>{{20, 1}}));
}

TEST(Chunks, getting_ready_for_them_appends_nothing) {
  const HostEngines engines("ready");
  const auto engine = engines.open(20);
  const std::vector<int32_t> prompt = some_ids(50);
  Sequence text = engine->cache().new_sequence();
  extend(*engine, text, std::span(prompt).first(5));
  engine->prewarm(5, 45, true);
  EXPECT_EQ(last_logits(*engine, text, std::span(prompt).subspan(5)), last_logits(*engines.open(), prompt));
}

TEST(Chunks, fill_a_context_to_its_last_place) {
  const HostEngines engines("full");
  EngineOptions options = engines.options(7);
  options.context = 16;
  const auto engine = Engine::open(options);
  Sequence text = engine->cache().new_sequence();
  extend(*engine, text, some_ids(16));
  EXPECT_EQ(text.position(), 16);
  EXPECT_NO_THROW(engine->prewarm(16, 1, true)) << "there is nothing to prepare";
  EXPECT_ANY_THROW(extend(*engine, text, some_ids(1)));
  text.rewind(15);
  EXPECT_NO_THROW(extend(*engine, text, some_ids(1)));
}

TEST(Chunks, are_where_a_caller_can_end_a_prompt) {
  const HostEngines engines("interrupted");
  const auto engine = engines.open(20);
  const std::vector<int32_t> prompt = some_ids(50);
  Sequence text = engine->cache().new_sequence();
  std::vector<int64_t> done;
  ExtendOptions options;
  options.progress = [&done](int64_t now, int64_t total) {
    EXPECT_EQ(total, 50);
    done.push_back(now);
  };
  options.interrupted = [&done] { return done.size() == 2; };
  EXPECT_THROW(extend(*engine, text, prompt, options), Interrupted);
  EXPECT_EQ(done, (std::vector<int64_t>{20, 40}));
  EXPECT_EQ(text.position(), 40) << "what has run is kept";
  EXPECT_EQ(last_logits(*engine, text, std::span(prompt).subspan(40)), last_logits(*engines.open(), prompt));
}

TEST(Chunks, with_logits_for_all_tokens_are_bounded_by_the_room_for_logits) {
  const HostEngines engines("rows");
  EngineOptions options = engines.options(20);
  options.logit_rows = 8;
  const auto engine = Engine::open(options);
  const std::vector<int32_t> prompt = some_ids(18);
  Sequence text = engine->cache().new_sequence();
  std::vector<int64_t> firsts, rows;
  std::vector<float> last;
  const auto sink = [&](int64_t first, std::span<const float> logits) {
    firsts.push_back(first);
    rows.push_back(std::ssize(logits) / 320);
    last.assign(logits.end() - 320, logits.end());
  };
  extend_all(*engine, text, prompt, sink);
  EXPECT_EQ(firsts, (std::vector<int64_t>{0, 8, 16}));
  EXPECT_EQ(rows, (std::vector<int64_t>{8, 8, 2}));
  EXPECT_EQ(last, last_logits(*engines.open(), prompt));
}

// A plan that weighs attention depends on the position where its pass begins. The last chunk begins in front of
// position 256 and ends behind it.
TEST(Chunks, find_the_plans_that_were_prepared_for_them) {
  TinyModel model;
  model.context_length = 512;
  const HostEngines engines("prepared", model);
  EngineOptions options = engines.options(160);
  options.plan = "staggered";
  options.devices = {"npu:0", "host"};
  options.act = ActType::f16;
  options.context = 320;
  const auto engine = Engine::open(options);
  engine->prewarm(0, 300, true);
  const size_t prepared = engine->plans().size();
  Sequence text = engine->cache().new_sequence();
  extend(*engine, text, some_ids(300));
  extend(*engine, text, some_ids(1));
  EXPECT_EQ(engine->plans().size(), prepared);
}

// A plan that weighs attention is valid for a range of depths. A deeper piece needs a new plan.
TEST(Chunks, at_another_depth_are_planned_anew) {
  TinyModel model;
  model.context_length = 512;
  const HostEngines engines("depths", model);
  EngineOptions options = engines.options(32);
  options.plan = "staggered";
  options.devices = {"npu:0", "host"};
  options.act = ActType::f16;
  options.context = 320;
  const auto engine = Engine::open(options);
  Sequence text = engine->cache().new_sequence();
  extend(*engine, text, some_ids(256));
  EXPECT_EQ(engine->plans().size(), 2u) << "pieces without logits, and the last one";
  extend(*engine, text, some_ids(32));
  EXPECT_EQ(engine->plans().size(), 3u) << "a last piece after 256 tokens";
}

}  // namespace
}  // namespace tandem::testing
