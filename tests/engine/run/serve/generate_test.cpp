#include "engine/run/serve/generate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "tests/engine/run/host_engine.h"

namespace tandem {
namespace {

using testing::so_many;

std::string feed(StopMatcher& matcher, std::initializer_list<const char*> pieces) {
  std::string out;
  for (const char* piece : pieces) out += matcher.push(piece);
  return out;
}

TEST(StopMatcher, passes_text_on_when_there_is_nothing_to_stop_at) {
  StopMatcher matcher({});
  EXPECT_EQ(feed(matcher, {"a", "bc"}), "abc");
  EXPECT_FALSE(matcher.stopped());
}

TEST(StopMatcher, never_lets_a_part_of_a_stop_string_through) {
  StopMatcher matcher({"<end>"});
  EXPECT_EQ(matcher.push("x<"), "x");
  EXPECT_EQ(matcher.push("en"), "");
  EXPECT_EQ(matcher.push("d>y"), "");
  EXPECT_TRUE(matcher.stopped());
  EXPECT_EQ(matcher.flush(), "") << "what follows the stop string is not text";
}

TEST(StopMatcher, lets_go_of_what_turns_out_to_be_something_else) {
  StopMatcher matcher({"<end>"});
  EXPECT_EQ(feed(matcher, {"<e", "gg>", "<"}), "<egg>");
  EXPECT_EQ(matcher.flush(), "<");
}

TEST(StopMatcher, stops_at_the_first_of_several_strings) {
  StopMatcher matcher({"bb", "a"});
  EXPECT_EQ(matcher.push("xxaxbb"), "xx");
  EXPECT_TRUE(matcher.stopped());
}

TEST(StopMatcher, finds_a_stop_string_that_begins_with_its_own_beginning) {
  StopMatcher matcher({"aab"});
  EXPECT_EQ(feed(matcher, {"a", "a", "a", "b"}), "a");
  EXPECT_TRUE(matcher.stopped());
}

TEST(StopMatcher, looks_for_every_one_of_several_strings) {
  StopMatcher matcher({"a", "zz"});
  EXPECT_EQ(matcher.push("xay"), "x") << "the last one is nowhere";
  StopMatcher later({"zz", "yy"});
  EXPECT_EQ(later.push("byyzz"), "b");
}

TEST(StopMatcher, holds_back_a_single_letter_that_may_begin_a_stop_string) {
  StopMatcher matcher({"<end>"});
  EXPECT_EQ(matcher.push("<"), "");
  EXPECT_EQ(matcher.push("end>"), "");
  EXPECT_TRUE(matcher.stopped());
}

TEST(Generate, fills_the_context_to_its_last_place) {
  const testing::HostEngines engines("generate");
  EngineOptions options = engines.options();
  options.context = 16;
  const auto engine = Engine::open(options);
  const std::vector<int32_t> prompt = testing::some_ids(10);
  Sequence text = engine->cache().new_sequence();
  const Generation result = generate(*engine, text, prompt, so_many(-1));
  EXPECT_EQ(result.reason, StopReason::context_full);
  EXPECT_EQ(text.position(), 16);
  EXPECT_EQ(result.ids.size(), 7u) << "one from the prompt's logits, six from those of the places 10 to 15";
}

TEST(Generate, gives_as_many_tokens_as_asked_for_and_counts_the_prompts_apart) {
  const testing::HostEngines engines("generate");
  const std::vector<int32_t> prompt = testing::some_ids(10);
  for (const int64_t count : {0, 1, 5}) {
    const auto engine = engines.open();
    Sequence text = engine->cache().new_sequence();
    const Generation result = generate(*engine, text, prompt, so_many(count));
    EXPECT_EQ(result.reason, StopReason::length);
    EXPECT_EQ(static_cast<int64_t>(result.ids.size()), count);
    EXPECT_EQ(result.prompt_tokens, 10);
    EXPECT_EQ(text.position(), 10 + std::max<int64_t>(0, count - 1)) << "nobody needs the last one's logits";
  }
}

// Matrices may have more rows than the tokenizer has tokens, to fill tiles. Rows that are no token are never chosen.
TEST(Generate, chooses_no_row_of_the_vocabulary_that_is_no_token) {
  static constexpr int32_t kTokens = 20;
  const testing::ScratchFolder folder;
  const std::string path = folder.file("padded.gguf");
  GgufWriter writer = testing::tiny_writer({});
  const MadeUpVocabulary vocabulary = made_up_vocabulary(kTokens);
  writer.set("tokenizer.ggml.tokens", vocabulary.tokens).set("tokenizer.ggml.scores", vocabulary.scores);
  writer.set("tokenizer.ggml.token_type", vocabulary.types);
  testing::write_file(path, writer.bytes());
  EngineOptions engine_options = testing::HostEngines("unpadded").options();
  engine_options.model_path = path;
  const auto engine = Engine::open(engine_options);
  const std::vector<int32_t> prompt{3, 4, 5};
  for (const float temperature : {0.0f, 5.0f}) {
    GenerateOptions options = so_many(60);
    options.sampler.temperature = temperature;
    options.logprobs = 3;
    options.on_token = [](const ChosenToken& token) {
      EXPECT_LT(token.id, kTokens);
      for (const LikelyToken& each : token.likely) EXPECT_LT(each.id, kTokens);
    };
    const Generation result = generate(*engine, prompt, options);
    EXPECT_EQ(result.reason, StopReason::length);
    EXPECT_EQ(result.ids.size(), 60u);
  }
}

// The prompt holds three quarters of the vocabulary, so the likeliest next token is among them.
TEST(Generate, avoids_the_prompts_tokens_when_repeating_is_penalised) {
  testing::TinyModel model;
  model.context_length = 512;
  const testing::HostEngines engines("generate", model);
  const auto engine = engines.open();
  int tried = 0;
  for (int left_out = 0; left_out < 4; ++left_out) {
    std::vector<int32_t> prompt;
    for (int32_t id = 3; id < engine->model().config().vocabulary; ++id)
      if (id % 4 != left_out) prompt.push_back(id);
    Sequence text = engine->cache().new_sequence();
    const Logits logits = extend(*engine, text, prompt);
    text.rewind(0);
    std::vector<float> penalised(logits.begin(), logits.end());
    const int32_t likeliest = greedy_choice(penalised);
    apply_repeat_penalty(penalised, prompt, 1000);
    const int32_t expected = greedy_choice(penalised);
    if (expected == likeliest) continue;
    ++tried;
    GenerateOptions options = so_many(1);
    options.sampler.repeat_penalty = 1000;
    options.sampler.repeat_last = 512;
    EXPECT_EQ(generate(*engine, prompt, options).ids.front(), expected);
  }
  EXPECT_GT(tried, 0) << "no prompt whose likeliest successor it holds";
}

TEST(StopMatcher, ignores_an_empty_stop_string) {
  StopMatcher matcher({""});
  EXPECT_EQ(matcher.push("text"), "text");
}

// Callbacks belong to one request, and may refer to variables on its caller's stack.
TEST(Generate, asks_no_more_whether_it_is_interrupted_when_it_is_over) {
  const testing::HostEngines engines("asks");
  const auto engine = engines.open(4);
  int asked = 0;
  GenerateOptions options;
  options.predict = 2;
  options.interrupted = [&asked] { return ++asked < 0; };
  generate(*engine, testing::some_ids(9), options);
  EXPECT_GT(asked, 0);
  const int until_its_end = asked;
  generate(*engine, testing::some_ids(9), so_many(2));
  EXPECT_EQ(asked, until_its_end);

  options.on_text = [](std::string_view) { throw std::runtime_error("mine"); };
  EXPECT_THROW(generate(*engine, testing::some_ids(9), options), std::runtime_error);
  const int at_the_error = asked;
  generate(*engine, testing::some_ids(9), so_many(2));
  EXPECT_EQ(asked, at_the_error);
}

TEST(Generate, reads_a_prompt_in_the_chunks_that_were_prepared_and_tells_how_much_it_has_read) {
  const testing::HostEngines engines("chunks");
  const auto engine = engines.open(4);
  std::vector<std::pair<int64_t, int64_t>> told;
  GenerateOptions options = so_many(1);
  size_t prepared = 0;
  options.on_ready = [&] { prepared = engine->plans().size(); };
  options.on_prompt = [&told](int64_t done, int64_t total) { told.emplace_back(done, total); };
  generate(*engine, testing::some_ids(10), options);
  EXPECT_EQ(told, (std::vector<std::pair<int64_t, int64_t>>{{4, 10}, {8, 10}, {10, 10}}));
  EXPECT_EQ(engine->plans().size(), prepared) << "no pass needed another plan";
  told.clear();
  generate(*engine, testing::some_ids(4), options);
  EXPECT_TRUE(told.empty()) << "a prompt of one chunk";
}

// A progress bar is wiped when the prompt has run. Text that was printed before would be wiped with it.
TEST(Generate, tells_that_the_prompt_has_run_before_it_hands_over_text) {
  const testing::HostEngines engines("order");
  const auto engine = engines.open(4);
  std::vector<std::string> calls;
  GenerateOptions options = so_many(2);
  options.on_prompt = [&calls](int64_t done, int64_t) { calls.push_back(std::to_string(done)); };
  options.on_text = [&calls](std::string_view) { calls.push_back("text"); };
  generate(*engine, testing::some_ids(6), options);
  ASSERT_GE(calls.size(), 3u);
  EXPECT_EQ(calls[0], "4");
  EXPECT_EQ(calls[1], "6");
  EXPECT_EQ(calls[2], "text");
}

// A stop string that has begun holds text back. After an error the text is not handed over.
TEST(Generate, hands_over_nothing_after_a_callback_threw) {
  const testing::HostEngines engines("thrown");
  const auto engine = engines.open();
  const std::string text = generate(*engine, testing::some_ids(6), so_many(4)).text;
  ASSERT_GT(text.size(), 1u);
  GenerateOptions options = so_many(4);
  options.stop = {text.substr(1) + "!"};  // all but the first character is held back
  int calls = 0;
  options.on_text = [&calls](std::string_view) {
    ++calls;
    throw std::runtime_error("mine");
  };
  EXPECT_THROW(generate(*engine, testing::some_ids(6), options), std::runtime_error);
  EXPECT_EQ(calls, 1);
}

TEST(Generate, goes_on_in_a_sequence_that_has_the_beginning_of_the_prompt) {
  const testing::HostEngines engines("goes_on");
  const auto engine = engines.open();
  const std::vector<int32_t> prompt = testing::some_ids(10);
  const Generation expected = generate(*engine, prompt, so_many(5));
  Sequence text = engine->cache().new_sequence();
  extend(*engine, text, std::span(prompt).first(7));
  const Generation found = generate(*engine, text, prompt, so_many(5));
  EXPECT_EQ(found.ids, expected.ids);
  EXPECT_EQ(found.cached_prefix_tokens, 7);
  EXPECT_EQ(found.prompt_tokens, 10);
  ASSERT_EQ(text.position(), 14);
  EXPECT_TRUE(std::ranges::equal(text.ids().last(4), std::span(found.ids).first(4)));
  EXPECT_ANY_THROW(generate(*engine, text, prompt, so_many(5))) << "the last token of a prompt is run";
  text.rewind(9);
  std::vector<int32_t> other = prompt;
  other.front() = 99;
  EXPECT_ANY_THROW(generate(*engine, text, other, so_many(5))) << "it begins otherwise";
}

}  // namespace
}  // namespace tandem
