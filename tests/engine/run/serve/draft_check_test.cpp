// The check of drafts passes where a token's bits do not depend on its pass, and names the first bit that differs.
#include "engine/run/serve/draft_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "tests/engine/run/host_engine.h"

namespace tandem {
namespace {

using testing::HostEngines;
using testing::message_of;
using testing::so_many;
using testing::some_ids;

class CheckOfDrafts : public ::testing::Test {
 protected:
  CheckOfDrafts() {
    EngineOptions options = engines_.options();
    options.context = 128;
    options.logit_rows = 16;
    options.spare_texts = 1;
    engine_ = Engine::open(options);
  }
  const HostEngines engines_{"checked"};
  std::unique_ptr<Engine> engine_;
};

TEST_F(CheckOfDrafts, passes_for_tokens_that_ran_together) {
  Sequence text = engine_->cache().new_sequence();
  extend(*engine_, text, some_ids(10));
  DraftCheck check(*engine_);
  check.begin(text);
  const std::vector<int32_t> ids = {5, 9, 5};
  const Logits together = engine_->extend(std::vector<Extension>{{&text, ids, 3}});
  const size_t vocabulary = together.size() / 3;
  for (size_t i = 0; i < 3; ++i) check.add(ids[i], together.values().subspan(i * vocabulary, vocabulary));
  check.run();
  EXPECT_EQ(check.checked(), 3);
  check.run();
  EXPECT_EQ(check.checked(), 3) << "nothing was added";
}

TEST_F(CheckOfDrafts, names_the_first_bit_that_differs) {
  Sequence text = engine_->cache().new_sequence();
  extend(*engine_, text, some_ids(10));
  const Logits right = extend(*engine_, text, std::vector<int32_t>{5});
  text.rewind(10);
  for (const int bit : {0, 7, 31}) {
    DraftCheck check(*engine_);
    check.begin(text);
    std::vector<float> logits(right.begin(), right.end());
    logits[40] = std::bit_cast<float>(std::bit_cast<uint32_t>(logits[40]) ^ 1u << bit);
    logits[41] = 1;
    check.add(5, logits);
    const std::string message = message_of([&] { check.run(); });
    EXPECT_THAT(message, ::testing::HasSubstr("behind token 11 of the text (id 5) logit 40 is "));
    EXPECT_THAT(message, ::testing::HasSubstr("(bit " + std::to_string(bit) + ")"));
  }
}

// Texts to the end of the context, so the cache has to have room for two.
TEST_F(CheckOfDrafts, runs_each_token_of_a_text_again) {
  for (const SpecMode mode : {SpecMode::automatic, SpecMode::sam, SpecMode::pld}) {
    GenerateOptions options = so_many(-1);
    options.spec.mode = mode;
    const Generation plain = generate(*engine_, some_ids(10), options);
    EXPECT_EQ(plain.drafts.checked, 0);
    options.spec.check = true;
    const Generation checked = generate(*engine_, some_ids(10), options);
    EXPECT_EQ(checked.ids, plain.ids);
    EXPECT_EQ(checked.reason, StopReason::context_full);
    EXPECT_EQ(checked.drafts.checked, std::ssize(checked.ids) - 1) << "the prompt gave the first one";
  }
}

// Without a context for it the text ends with an error, and the engine goes on.
TEST_F(CheckOfDrafts, needs_room_in_the_cache) {
  EngineOptions options = engines_.options();
  options.context = 600;
  options.logit_rows = 16;
  const auto engine = Engine::open(options);
  GenerateOptions generation = so_many(-1);
  generation.spec.mode = SpecMode::sam;
  generation.spec.check = true;
  EXPECT_THAT(message_of([&] { generate(*engine, some_ids(300), generation); }), ::testing::HasSubstr("cache"));
  EXPECT_EQ(generate(*engine, some_ids(300), so_many(5)).ids.size(), 5u);
}

}  // namespace
}  // namespace tandem
