// S4: a text that is written with drafts is the text that is written without them: its tokens, its reason to end, and
// the keys and values that it leaves.
#include "engine/run/serve/speculation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <stdexcept>

#include "tests/engine/run/host_engine.h"

namespace tandem {
namespace {

using testing::HostEngines;
using testing::so_many;
using testing::some_ids;

constexpr SpecMode kDrafting[] = {SpecMode::automatic, SpecMode::pld, SpecMode::sam, SpecMode::sdnpu};

// Texts of a small random model soon repeat themselves, so there are drafts.
class Drafted : public ::testing::Test {
 protected:
  Drafted() {
    EngineOptions options = engines_.options();
    options.context = 192;
    options.logit_rows = 16;
    options.drafts = true;  // passes may have trees
    engine_ = Engine::open(options);
  }
  struct Written {
    Generation generation;
    std::vector<int32_t> tokens;  // of the sequence
    std::vector<float> behind;    // logits of one more token, which read all keys and values
  };
  Written write(const std::vector<int32_t>& prompt, GenerateOptions options, SpecMode mode) {
    options.spec.mode = mode;
    Sequence text = engine_->cache().new_sequence();
    Written written{generate(*engine_, text, prompt, options), {text.ids().begin(), text.ids().end()}, {}};
    if (text.position() == engine_->sizes().context) return written;
    const Logits logits = extend(*engine_, text, some_ids(1));
    written.behind.assign(logits.begin(), logits.end());
    return written;
  }
  // Writes the text in each mode. Returns the drafts that ran in all.
  int64_t expect_same(const std::vector<int32_t>& prompt, const GenerateOptions& options) {
    const Written plain = write(prompt, options, SpecMode::none);
    int64_t drafts = 0;
    for (const SpecMode mode : kDrafting) {
      const Written drafted = write(prompt, options, mode);
      EXPECT_EQ(drafted.generation.ids, plain.generation.ids) << to_string(mode);
      EXPECT_EQ(drafted.generation.text, plain.generation.text) << to_string(mode);
      EXPECT_EQ(drafted.generation.reason, plain.generation.reason) << to_string(mode);
      EXPECT_EQ(drafted.tokens, plain.tokens) << to_string(mode);
      EXPECT_TRUE(drafted.behind.size() == plain.behind.size() &&
                  (plain.behind.empty() ||
                   std::memcmp(drafted.behind.data(), plain.behind.data(), plain.behind.size() * sizeof(float)) == 0))
          << to_string(mode);
      const DraftTotals& totals = drafted.generation.drafts;
      EXPECT_LE(totals.accepted, totals.drafts);
      EXPECT_LE(totals.passes, totals.drafts);
      drafts += totals.drafts;
      trees_ += totals.tree_passes;
      calibrated_ += totals.sources.contains("calibrated") ? totals.sources.at("calibrated").accepted : 0;
    }
    return drafts;
  }

  const HostEngines engines_{"drafted"};
  std::unique_ptr<Engine> engine_;
  int64_t trees_ = 0, calibrated_ = 0;  // passes with trees, and accepted drafts that the prompt's logits gave
};

TEST_F(Drafted, has_the_tokens_of_plain_decoding) {
  int64_t drafts = 0;
  for (int length = 1; length < 40; length += 4) drafts += expect_same(some_ids(length), so_many(60));
  EXPECT_GT(drafts, 200);
  EXPECT_GT(trees_, 20);
}

TEST_F(Drafted, has_the_tokens_that_the_sampler_draws_alone) {
  int64_t drafts = 0;
  for (uint64_t seed = 1; seed < 6; ++seed) {
    GenerateOptions options = so_many(50);
    options.sampler.seed = seed;
    options.sampler.temperature = 0.2f * static_cast<float>(seed);
    options.sampler.repeat_penalty = seed % 2 ? 1.0f : 1.1f;
    drafts += expect_same(some_ids(12), options);
  }
  EXPECT_GT(drafts, 50);
}

TEST_F(Drafted, ends_where_plain_decoding_ends) {
  for (int64_t predict = 0; predict < 20; ++predict) expect_same(some_ids(10), so_many(predict));
  expect_same(some_ids(10), so_many(-1));  // the context is full
  GenerateOptions ends = so_many(100);
  ends.ignore_end = false;
  for (int length = 3; length < 20; ++length) expect_same(some_ids(length), ends);
}

// Each piece of the plain text is a stop string once, so texts end at every place of a chain.
TEST_F(Drafted, ends_at_a_stop_string_in_the_middle_of_a_chain) {
  const std::string text = write(some_ids(10), so_many(40), SpecMode::none).generation.text;
  for (size_t begin = 0; begin + 3 < text.size(); begin += 5) {
    GenerateOptions options = so_many(40);
    options.stop = {text.substr(begin, 3)};
    expect_same(some_ids(10), options);
  }
}

// A draft that ends a text is a part of it. Nothing is written behind it, so its pass has one token less.
TEST_F(Drafted, counts_a_draft_that_ends_the_text) {
  const Generation plain = write(some_ids(10), so_many(40), SpecMode::none).generation;
  const auto history = std::make_shared<TextHistory>();
  std::vector<int32_t> text = some_ids(10);
  text.insert(text.end(), plain.ids.begin(), plain.ids.end());
  history->add(text);
  GenerateOptions options = so_many(40);
  options.spec.history = history;
  int ended = 0;
  for (size_t begin = 0; begin + 3 < plain.text.size(); begin += 3) {
    options.stop = {plain.text.substr(begin, 3)};
    for (const SpecMode mode : {SpecMode::sam, SpecMode::sdnpu}) {
      const Generation drafted = write(some_ids(10), options, mode).generation;
      int64_t of_sources = 0;
      for (const auto& [name, source] : drafted.drafts.sources) of_sources += source.accepted;
      EXPECT_EQ(of_sources, drafted.drafts.accepted) << to_string(mode);
      // The prompt gave the first token. Each pass gave one and its accepted drafts, but for one that ended the text.
      const int64_t written = std::ssize(drafted.ids) - 1,
                    missing = drafted.predicted_passes + drafted.drafts.accepted - written;
      EXPECT_TRUE(missing == 0 || missing == 1) << missing << " " << to_string(mode);
      ended += missing == 1 ? 1 : 0;
    }
  }
  EXPECT_GT(ended, 10);
}

TEST_F(Drafted, ends_when_it_is_interrupted) {
  for (const SpecMode mode : kDrafting) {
    GenerateOptions options = so_many(60);
    int asked = 0;
    options.interrupted = [&asked] { return ++asked > 20; };
    const Written written = write(some_ids(10), options, mode);
    EXPECT_EQ(written.generation.reason, StopReason::interrupted);
    EXPECT_EQ(written.tokens.size(), 10 + written.generation.ids.size()) << to_string(mode);
  }
}

// The error of a callback in the middle of a chain ends the text, and the sequence has no draft behind it.
TEST_F(Drafted, leaves_no_draft_behind_a_callback_that_throws) {
  const Written plain = write(some_ids(10), so_many(60), SpecMode::none);
  for (const SpecMode mode : kDrafting) {
    GenerateOptions options = so_many(60);
    options.spec.mode = mode;
    int pieces = 0;
    options.on_text = [&pieces](std::string_view) {
      if (++pieces == 25) throw std::runtime_error("no more");
    };
    Sequence text = engine_->cache().new_sequence();
    EXPECT_THROW(generate(*engine_, text, some_ids(10), options), std::runtime_error);
    EXPECT_TRUE(std::ranges::equal(text.ids(), std::span(plain.tokens).first(text.ids().size()))) << to_string(mode);
  }
}

// A history that is right but for some tokens gives chains that are accepted in part.
TEST_F(Drafted, from_a_history_with_mistakes_is_the_same) {
  std::mt19937 random(3);
  int64_t drafts = 0, accepted = 0;
  for (int round = 0; round < 40; ++round) {
    const std::vector<int32_t> prompt = some_ids(5 + round);
    GenerateOptions options = so_many(60);
    options.sampler.temperature = 1.2f;  // so that the text does not repeat itself
    options.sampler.seed = static_cast<uint64_t>(round);
    const Written plain = write(prompt, options, SpecMode::none);
    std::vector<int32_t> earlier = prompt;
    for (const int32_t id : plain.generation.ids) earlier.push_back(random() % 8 ? id : id ^ 1);
    options.spec.history = std::make_shared<TextHistory>();
    options.spec.history->add(earlier);
    options.spec.predictions = {plain.generation.ids};
    for (const SpecMode mode : {SpecMode::sam, SpecMode::sdnpu}) {
      const Written drafted = write(prompt, options, mode);
      EXPECT_EQ(drafted.generation.ids, plain.generation.ids) << round;
      EXPECT_EQ(drafted.behind, plain.behind) << round;
      drafts += drafted.generation.drafts.drafts;
      accepted += drafted.generation.drafts.accepted;
    }
  }
  EXPECT_GT(accepted, 500);
  EXPECT_GT(drafts - accepted, 100) << "some drafts are wrong";
}

// Prompts that the model wrote itself have its own words behind each place. Pieces of prompts that get logits have 16
// tokens at most, so long prompts are read in several of them.
TEST_F(Drafted, takes_the_words_that_the_model_expected_in_the_prompt) {
  for (int length = 5; length < 60; length += 9) {
    std::vector<int32_t> prompt = some_ids(length);
    const std::vector<int32_t> more = write(prompt, so_many(50), SpecMode::none).generation.ids;
    prompt.insert(prompt.end(), more.begin(), more.end());
    GenerateOptions options = so_many(40);
    options.sampler.temperature = 0.5f;
    options.sampler.seed = static_cast<uint64_t>(length);
    expect_same(prompt, options);
  }
  EXPECT_GT(calibrated_, 4);
}

// Measured times say that trees are faster than anything else.
TEST_F(Drafted, by_default_is_a_tree_where_branches_are_worth_it) {
  // The text has four words, so matches have several continuations.
  std::mt19937 random(2);
  std::vector<int32_t> prompt(60);
  GenerateOptions options = so_many(60);
  options.replayed.resize(60);
  for (int32_t& token : prompt) token = 5 + static_cast<int32_t>(random() % 4);
  for (int32_t& token : options.replayed) token = 5 + static_cast<int32_t>(random() % 4);
  const Written plain = write(prompt, options, SpecMode::none);
  PassTimes& times = engine_->plans().times();
  for (int pass = 0; pass < 6; ++pass) {
    for (const int64_t tokens : {1, 2, 4, 8, 16}) {
      times.learn({1}, tokens, 0, 1);
      if (tokens > 1) times.learn({1, true}, tokens, 0, 0.5);
    }
  }
  const Written drafted = write(prompt, options, SpecMode::automatic);
  EXPECT_EQ(drafted.generation.ids, plain.generation.ids);
  EXPECT_EQ(drafted.behind, plain.behind);
  EXPECT_GT(drafted.generation.drafts.tree_passes, 0);
}

TEST_F(Drafted, has_as_many_drafts_as_asked_for) {
  for (const int64_t most : {0, 1, 3, 63}) {
    GenerateOptions options = so_many(60);
    options.spec.draft_max = most;
    options.spec.mode = SpecMode::sam;
    const DraftTotals totals = generate(*engine_, some_ids(10), options).drafts;
    EXPECT_LE(totals.drafts, totals.passes * std::min<int64_t>(most, 15)) << "the engine has 16 rows of logits";
    EXPECT_EQ(totals.passes > 0, most > 0);
    EXPECT_EQ(totals.why_none.empty(), most > 0);
  }
}

TEST_F(Drafted, says_why_there_are_no_drafts) {
  GenerateOptions options = so_many(5);
  options.spec.mode = SpecMode::none;
  EXPECT_EQ(generate(*engine_, some_ids(10), options).drafts.why_none, "speculative decoding was not asked for");
  const auto narrow = engines_.open();
  EXPECT_EQ(generate(*narrow, some_ids(10), so_many(5)).drafts.why_none, "passes have no room for drafts");
}

// Texts of all modes share passes. Each is the text that it is alone.
TEST(DraftedTexts, that_share_passes_are_those_of_plain_decoding) {
  const HostEngines engines("drafted");
  EngineOptions options = engines.options();
  options.context = 192;
  options.sequences = 6;
  options.logit_rows = 24;
  const auto engine = Engine::open(options);
  for (int round = 0; round < 6; ++round) {
    struct Text {
      std::vector<int32_t> prompt;
      GenerateOptions options;
      Batcher::Result result;
    };
    std::vector<Text> texts(10);
    for (size_t i = 0; i < texts.size(); ++i) {
      texts[i].prompt = some_ids(4 + 3 * static_cast<int>(i) + round);
      texts[i].options = so_many(20 + 5 * static_cast<int64_t>(i));
      texts[i].options.sampler.temperature = i % 2 ? 0.0f : 0.7f;
      texts[i].options.sampler.seed = i;
      texts[i].options.spec.mode = i == 0 ? SpecMode::none : kDrafting[i % 4];
    }
    Batcher batcher(*engine, 6);
    for (Text& text : texts)
      batcher.add(text.prompt, text.options, [&text](Batcher::Result result) { text.result = std::move(result); });
    while (batcher.step()) {
    }
    int64_t drafts = 0;
    for (Text& text : texts) {
      if (text.result.error) std::rethrow_exception(text.result.error);
      text.options.spec.mode = SpecMode::none;
      EXPECT_EQ(text.result.generation.ids, generate(*engine, text.prompt, text.options).ids);
      drafts += text.result.generation.drafts.drafts;
    }
    EXPECT_GT(drafts, 0);
  }
}

}  // namespace
}  // namespace tandem
