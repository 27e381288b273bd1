// Drafts of a smaller model: they are what it would write, they run only where that pays with its own passes, and they
// change no text.
#include "engine/run/serve/model_drafts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/run/host_engine.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::HostEngines;
using testing::message_of;
using testing::so_many;
using testing::some_ids;
using Tokens = std::vector<int32_t>;

class DraftsOfAModel : public ::testing::Test {
 protected:
  EngineOptions options(const HostEngines& of) const {
    EngineOptions options = of.options();
    options.logit_rows = 16;
    options.sequences = 2;
    return options;
  }
  std::unique_ptr<Engine> beside(const Engine& other, const EngineOptions& options) const {
    return std::make_unique<Engine>(std::make_shared<LoadedModel>(other.model().machine(), options), options);
  }
  Tokens written_behind(const Tokens& text, int64_t tokens) const {
    GenerateOptions plain = so_many(tokens);
    plain.spec.mode = SpecMode::none;
    return generate(*target_, text, plain).ids;
  }
  // The model's candidate behind a text, where passes of 1, 2, 4 and 8 tokens take so many seconds.
  std::vector<DraftCandidate> candidates(ModelDrafts& drafts, const Tokens& text, double first, double each_more,
                                         int64_t most = 7) {
    PassTimes times([&](int64_t tokens, int64_t, bool) { return first + each_more * static_cast<double>(tokens - 1); },
                    0);
    for (const int64_t width : {1, 2, 4, 8})
      for (int pass = 0; pass < 3; ++pass)
        times.learn({1}, width, 0, first + each_more * static_cast<double>(width - 1));
    TextDrafts of_text({}, rates_);
    for (const int32_t token : text) of_text.append(token);
    drafts.add_candidate(of_text, times, {1, std::ssize(text) - 1, most}, DraftBudget());
    return of_text.candidates();
  }
  // Says that a pass of the draft model takes so long.
  void let_it_take(double seconds) {
    for (int pass = 0; pass < 10; ++pass) model_->engine().plans().times().learn({1}, 1, 0, seconds);
  }

  const HostEngines engines_{"target"};
  const std::unique_ptr<Engine> target_ = Engine::open(options(engines_));
  const std::shared_ptr<DraftModel> model_ =
      std::make_shared<DraftModel>(beside(*target_, options(engines_)), *target_);
  AcceptanceRates rates_;
};

TEST_F(DraftsOfAModel, are_what_the_model_writes_next) {
  ModelDrafts drafts(model_, {});
  Tokens text = some_ids(40);
  for (int round = 0; round < 12; ++round) {
    const Tokens next = written_behind(text, 7);
    const auto found = candidates(drafts, text, 1, 0);
    ASSERT_EQ(found.size(), 1u);
    ASSERT_EQ(found[0].tokens, next) << round;
    // The text goes on with some of them, or with something else.
    text.insert(text.end(), next.begin(), next.begin() + round % 8);
    for (int other = 0; other < round % 3 * 4; ++other) text.push_back(3 + round + other);
    if (text.size() > 90) text.resize(30);
  }
  EXPECT_GT(drafts.totals().seconds, 0);
  EXPECT_GT(drafts.totals().prompt_seconds, 0);
  EXPECT_GE(drafts.totals().passes, 12 * 7);
}

TEST_F(DraftsOfAModel, run_only_where_they_pay_with_the_passes_of_the_model) {
  const auto count = [&](double of_model, double first, double each_more) {
    ModelDrafts drafts(model_, {});
    let_it_take(of_model);
    const auto found = candidates(drafts, some_ids(20), first, each_more);
    EXPECT_EQ(drafts.totals().passes, found.empty() ? 0 : std::ssize(found[0].tokens));
    return found.empty() ? 0 : std::ssize(found[0].tokens);
  };
  // A chance of 3/4 a token: 1.75 tokens for one draft, 2.73 for three, 3.60 for seven.
  EXPECT_EQ(count(1e-6, 1, 0), 7);
  EXPECT_EQ(count(0.3, 1, 0), 3) << "2.73 / 1.9 is more than 1.75 / 1.3 and 3.60 / 3.1";
  EXPECT_EQ(count(0.6, 1, 0), 1);
  EXPECT_EQ(count(0.8, 1, 0), 0);
  EXPECT_EQ(count(1e-6, 1, 1), 0) << "drafts take as long as tokens";
}

TEST_F(DraftsOfAModel, that_do_not_pay_are_tried_again_from_time_to_time) {
  ModelDrafts drafts(model_, {});
  let_it_take(1e-6);
  int64_t first_pass = 0;
  for (int64_t pass = 1; pass <= 70; ++pass) {
    candidates(drafts, some_ids(20), 1, 1);
    if (first_pass == 0 && drafts.totals().passes > 0) first_pass = pass;
  }
  EXPECT_EQ(first_pass, 65);
  EXPECT_EQ(drafts.totals().passes, 3);
}

TEST_F(DraftsOfAModel, end_where_a_text_may_end) {
  const Tokens text = some_ids(20), next = written_behind(text, 7);
  ModelDrafts drafts(model_, [&](int32_t token) { return token == next[0]; });
  const auto found = candidates(drafts, text, 1, 0);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].tokens, ElementsAre(next[0]));
}

TEST_F(DraftsOfAModel, need_room_in_its_context) {
  EngineOptions small = options(engines_);
  small.context = 24;
  ModelDrafts drafts(std::make_shared<DraftModel>(beside(*target_, small), *target_), {});
  const Tokens text = some_ids(22), next = written_behind(text, 7);
  const auto found = candidates(drafts, text, 1, 0);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].tokens, ElementsAre(next[0], next[1], next[2])) << "behind 22, 23 and 24 tokens";
  EXPECT_TRUE(candidates(drafts, some_ids(25), 1, 0).empty());
  EXPECT_EQ(drafts.totals().problem, "");
}

TEST_F(DraftsOfAModel, are_refused_with_another_vocabulary_or_machine) {
  testing::TinyModel other;
  other.vocabulary = 330;
  const HostEngines others("other", other);
  EXPECT_THAT(message_of([&] { DraftModel(beside(*target_, options(others)), *target_); }),
              HasSubstr("the draft model has another vocabulary: " + others.path()));
  EXPECT_THAT(message_of([&] { DraftModel(Engine::open(options(engines_)), *target_); }),
              HasSubstr("on another machine"));
}

// A model drafts for itself, so nearly all drafts are right. Its first passes seem to take no time, so that they run.
TEST_F(DraftsOfAModel, are_accepted_if_the_model_is_the_same) {
  const auto pretend = [&] {
    let_it_take(1e-7);
    for (const int64_t width : {8, 16})
      for (int pass = 0; pass < 10; ++pass) target_->plans().times().learn({width / 8}, width, 0, 1e-7);
  };
  GenerateOptions options = so_many(60);
  options.spec.model = model_;
  const Tokens prompts[] = {some_ids(12), some_ids(50)};
  DraftTotals::Source source;
  Batcher batcher(*target_, 2);
  for (const Tokens& prompt : prompts) {
    pretend();
    const Tokens plain = written_behind(prompt, 60);
    const Generation alone = generate(*target_, prompt, options);
    EXPECT_EQ(alone.ids, plain);
    EXPECT_GT(alone.drafts.model.passes, 0);
    EXPECT_EQ(alone.drafts.model.problem, "");
    if (const auto found = alone.drafts.sources.find("model"); found != alone.drafts.sources.end()) {
      source.drafts += found->second.drafts;
      source.accepted += found->second.accepted;
    }
    batcher.add(prompt, options, [plain](const Batcher::Result& result) {
      ASSERT_FALSE(result.error);
      EXPECT_EQ(result.generation.ids, plain);
    });
  }
  EXPECT_GE(source.drafts, 7);
  EXPECT_GE(source.accepted, source.drafts * 9 / 10);
  pretend();
  while (batcher.step()) {
  }
}

// Another text has the only page of the draft model.
TEST_F(DraftsOfAModel, that_fail_are_left_out_and_the_text_goes_on) {
  EngineOptions one = options(engines_);
  one.sequences = 1;
  const auto model = std::make_shared<DraftModel>(beside(*target_, one), *target_);
  Sequence other = model->engine().cache().new_sequence();
  extend(model->engine(), other, some_ids(3));
  ModelDrafts drafts(model, {});
  EXPECT_TRUE(candidates(drafts, some_ids(20), 1, 0).empty());
  EXPECT_THAT(drafts.totals().problem, HasSubstr("no free page"));
  other.rewind(0);
  EXPECT_TRUE(candidates(drafts, some_ids(20), 1, 0).empty()) << "it is not tried again";
}

}  // namespace
}  // namespace tandem
