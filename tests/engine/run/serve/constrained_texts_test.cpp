// Texts under a constraint: what they are, where they end, and that drafts and other texts change nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/run/serve/generate.h"
#include "tandem/constraint.h"
#include "tests/engine/run/host_engine.h"

namespace tandem {
namespace {

using testing::message_of;
using testing::so_many;
using testing::some_ids;

constexpr const char* kSchema =
    R"({"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}, "on": {"type": "boolean"},
        "count": {"type": "integer", "minimum": -20, "maximum": 300}}, "required": ["name", "count"],
        "additionalProperties": false})";

class Constrained : public ::testing::Test {
 protected:
  Constrained() {
    EngineOptions options = engines_.options();
    options.context = 192;
    options.logit_rows = 16;
    options.drafts = true;  // passes may have trees
    options.sequences = 4;
    engine_ = Engine::open(options);
    maker_ = std::make_unique<ConstraintMaker>(engine_->model().tokenizer());
  }
  GenerateOptions under(std::shared_ptr<const Constraint> constraint, int64_t tokens = 120) const {
    GenerateOptions options;
    options.predict = tokens;
    options.spec.mode = SpecMode::none;
    options.constraint = std::move(constraint);
    return options;
  }
  Generation write(const GenerateOptions& options, int prompt = 9) {
    return generate(*engine_, some_ids(prompt), options);
  }

  const testing::HostEngines engines_{"constrained"};
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<ConstraintMaker> maker_;
};

void expect_satisfied(const Generation& text) {
  ASSERT_EQ(text.reason, StopReason::end_of_text) << text.text;
  const auto value = nlohmann::json::parse(text.text, nullptr, false);
  ASSERT_TRUE(value.is_object()) << text.text;
  EXPECT_TRUE(value.at("name").is_string());
  EXPECT_TRUE(value.at("count") >= -20 && value.at("count") <= 300) << text.text;
  EXPECT_TRUE(!value.contains("on") || value.at("on").is_boolean());
}

// The random model would write anything else.
TEST_F(Constrained, satisfies_its_schema_at_every_temperature) {
  const auto form = maker_->json_schema(kSchema);
  EXPECT_FALSE(nlohmann::json::accept(write(under(nullptr)).text));
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    GenerateOptions options = under(form);
    options.sampler.seed = seed;
    options.sampler.temperature = 0.5f * static_cast<float>(seed % 5);
    options.sampler.top_k = seed % 2 ? 40 : 0;
    options.sampler.repeat_penalty = seed % 3 ? 1.0f : 1.3f;
    expect_satisfied(write(options));
  }
}

TEST_F(Constrained, is_the_same_with_drafts) {
  const auto letters = maker_->grammar("root ::= (\"a\" | \"b\" [0-3])*");
  const auto object = maker_->json_schema(kSchema);
  int64_t drafts = 0;
  for (int prompt = 1; prompt < 30; prompt += 7)
    for (const auto& form : {letters, object})
      for (const float temperature : {0.0f, 0.7f}) {
        GenerateOptions options = under(form, 60);
        options.sampler.temperature = temperature;
        const Generation plain = write(options, prompt);
        for (const SpecMode mode : {SpecMode::automatic, SpecMode::pld, SpecMode::sam, SpecMode::sdnpu}) {
          options.spec.mode = mode;
          const Generation drafted = write(options, prompt);
          EXPECT_EQ(drafted.ids, plain.ids) << to_string(mode);
          EXPECT_EQ(drafted.text, plain.text) << to_string(mode);
          EXPECT_EQ(drafted.reason, plain.reason) << to_string(mode);
          drafts += drafted.drafts.accepted;
        }
      }
  EXPECT_GT(drafts, 30);
}

// Every second text has a constraint. Two prompts begin alike, so the later one shares the pages of the earlier one.
TEST_F(Constrained, is_the_same_beside_other_texts) {
  const auto form = maker_->json_schema(kSchema), digits = maker_->grammar("root ::= [0-9]{3,40}");
  Batcher batcher(*engine_, 3);
  std::vector<std::optional<Generation>> found(8);
  std::vector<GenerateOptions> asked;
  for (size_t i = 0; i < found.size(); ++i) {
    asked.push_back(under(i % 2 ? form : i % 4 ? digits : nullptr, 40));
    asked.back().sampler.temperature = 1;
    asked.back().sampler.seed = i;
    batcher.add(some_ids(6 + static_cast<int>(i)), asked.back(), [&found, i](Batcher::Result result) {
      ASSERT_FALSE(result.error);
      found[i] = std::move(result.generation);
    });
  }
  while (batcher.step()) {
  }
  EXPECT_GT(batcher.totals().shared_tokens, 0);
  for (size_t i = 0; i < found.size(); ++i) {
    const Generation alone = write(asked[i], 6 + static_cast<int>(i));
    ASSERT_TRUE(found[i]) << i;
    EXPECT_EQ(found[i]->ids, alone.ids) << i;
    EXPECT_EQ(found[i]->reason, alone.reason) << i;
  }
}

TEST_F(Constrained, ends_where_nothing_may_follow_though_ends_are_ignored) {
  GenerateOptions options = under(maker_->json_schema(R"({"const": "abc"})"));
  options.ignore_end = true;
  const Generation text = write(options);
  EXPECT_EQ(text.text, "\"abc\"");
  EXPECT_EQ(text.reason, StopReason::end_of_text);
  const Generation empty = write(under(maker_->grammar("root ::= \"\"")));
  EXPECT_EQ(empty.text, "");
  EXPECT_EQ(empty.reason, StopReason::end_of_text);
}

TEST_F(Constrained, ends_earlier_by_its_length_and_its_stop_strings) {
  const Generation cut = write(under(maker_->grammar("root ::= \"x\"{100}"), 7));
  EXPECT_EQ(cut.text, "xxxxxxx");
  EXPECT_EQ(cut.reason, StopReason::length);
  GenerateOptions options = under(maker_->grammar("root ::= \"x\"{9} \"stop\" \"y\"{9}"));
  options.stop = {"stop"};
  const Generation stopped = write(options);
  EXPECT_EQ(stopped.text, "xxxxxxxxx");
  EXPECT_EQ(stopped.reason, StopReason::stop_string);
}

TEST_F(Constrained, refuses_replayed_tokens_that_break_it) {
  GenerateOptions options = under(maker_->grammar("root ::= \"xx\" [a-z]*"));
  options.replayed = engine_->model().tokenizer().encode("x", {.add_bos_eos = false});
  options.replayed = {options.replayed.back(), options.replayed.back(), options.replayed.back()};
  EXPECT_TRUE(write(options).text.starts_with("xxx"));
  options.constraint = maker_->grammar("root ::= \"xy\"");
  EXPECT_NE(message_of([&] { write(options); }).find("breaks the text's constraint"), std::string::npos);
}

// The chooser takes the largest finite logit, as the greedy sampler does.
TEST_F(Constrained, come_from_a_callers_choice_as_from_the_sampler) {
  GenerateOptions options = under(maker_->json_schema(kSchema));
  const Generation sampled = write(options);
  int64_t excluded = 0;
  options.choose = [&](std::span<const float> logits) {
    excluded += std::ranges::count(logits, -std::numeric_limits<float>::infinity());
    return static_cast<int32_t>(std::ranges::max_element(logits) - logits.begin());
  };
  EXPECT_EQ(write(options).ids, sampled.ids);
  EXPECT_GT(excluded, 0);
  options.choose = [](std::span<const float> logits) {
    return static_cast<int32_t>(std::ranges::min_element(logits) - logits.begin());  // one that may not come
  };
  EXPECT_NE(message_of([&] { write(options); }).find("may not come"), std::string::npos);
  options.constraint = nullptr;
  options.choose = [](std::span<const float>) { return -1; };
  EXPECT_NE(message_of([&] { write(options); }).find("token -1"), std::string::npos);
}

}  // namespace
}  // namespace tandem
