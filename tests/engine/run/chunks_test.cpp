// Long prompts in pieces, and the state that an engine keeps between pieces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tests/engine/run/host_engine.h"

namespace tandem::testing {
namespace {

using ::testing::HasSubstr;

std::vector<float> last_logits(Engine& engine, std::span<const int32_t> ids) {
  const std::span<const float> logits = engine.extend(ids);
  return {logits.begin(), logits.end()};
}

// A token's logits depend on the tokens before it, and not on the pieces that held them.
TEST(Chunks, of_a_prompt_give_the_bits_of_the_whole) {
  const HostEngines engines("pieces");
  const std::vector<int32_t> prompt = some_ids(50);
  const std::vector<float> expected = last_logits(*engines.open(64), prompt);
  for (const int64_t chunk : {1, 7, 25, 49}) {
    const auto engine = engines.open(chunk);
    EXPECT_EQ(last_logits(*engine, prompt), expected) << "in pieces of " << chunk;
    EXPECT_EQ(engine->position(), 50);
  }
}

TEST(Chunks, only_the_last_one_has_logits) {
  const auto engine = HostEngines("logit rows").open(20);
  EXPECT_EQ(engine->next_chunk(0, 50), (Batch{20, 0}));
  EXPECT_EQ(engine->next_chunk(20, 50), (Batch{20, 0}));
  EXPECT_EQ(engine->next_chunk(40, 50), (Batch{10, 1}));
  EXPECT_EQ(engine->next_chunk(0, 20), (Batch{20, 1}));
}

TEST(Chunks, getting_ready_for_them_appends_nothing) {
  const HostEngines engines("ready");
  const auto engine = engines.open(20);
  const std::vector<int32_t> prompt = some_ids(50);
  engine->extend(std::span(prompt).first(5));
  engine->prewarm(45, true);
  EXPECT_EQ(engine->position(), 5);
  EXPECT_EQ(last_logits(*engine, std::span(prompt).subspan(5)), last_logits(*engines.open(), prompt));
}

TEST(Chunks, fill_a_context_to_its_last_place) {
  const HostEngines engines("full");
  EngineOptions options = engines.options(7);
  options.context = 16;
  const auto engine = Engine::open(options);
  engine->extend(some_ids(16));
  EXPECT_EQ(engine->position(), 16);
  EXPECT_ANY_THROW(engine->extend(some_ids(1)));
  engine->rewind(15);
  EXPECT_NO_THROW(engine->extend(some_ids(1)));
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
  engine->extend(some_ids(256));
  EXPECT_EQ(engine->plans_kept(), 2u) << "pieces without logits, and the last one";
  engine->extend(some_ids(32));
  EXPECT_EQ(engine->plans_kept(), 3u) << "a last piece after 256 tokens";
}

}  // namespace
}  // namespace tandem::testing
