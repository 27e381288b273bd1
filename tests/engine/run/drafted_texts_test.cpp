// Texts with drafts on every device and plan, and of every architecture, are the texts of plain decoding (S4).
#include <gtest/gtest.h>

#include "engine/draft/draft_history.h"
#include "engine/run/serve/generate.h"
#include "tests/engine/run/made_models.h"
#include "tests/engine/run/many_sequences.h"
#include "tests/engine/run/random_drafts.h"

namespace tandem::testing {
namespace {

constexpr SpecMode kModes[] = {SpecMode::sdnpu, SpecMode::sam, SpecMode::pld, SpecMode::automatic};

// A history that is right but for every thirteenth token, so that chains are accepted in part.
SpecOptions drafts_of(SpecMode mode, std::span<const int32_t> prompt, std::span<const int32_t> written) {
  SpecOptions spec;
  spec.mode = mode;
  spec.history = std::make_shared<TextHistory>();
  std::vector<int32_t> earlier(prompt.begin(), prompt.end());
  for (size_t i = 0; i < written.size(); ++i) earlier.push_back(i % 13 == 12 ? written[i] ^ 1 : written[i]);
  spec.history->add(earlier);
  return spec;
}

// Draws the tokens, so that the text does not repeat itself.
GenerateOptions drawn(int64_t tokens) {
  GenerateOptions options = so_many(tokens);
  options.sampler.temperature = 1;
  options.sampler.seed = 5;
  return options;
}

class DraftedOnDevices : public ManyOnDevices {};

TEST_P(DraftedOnDevices, write_what_plain_decoding_writes) {
  const int64_t tokens = is_slow() ? 12 : 40;
  const auto engine = Engine::open(options(4, 64));
  struct Text {
    std::vector<int32_t> prompt;
    GenerateOptions options;
    std::vector<int32_t> plain, drafted;
  };
  std::vector<Text> texts(4);
  for (size_t i = 0; i < texts.size(); ++i) {
    Text& text = texts[i];
    text.prompt = ids_of(static_cast<int64_t>(i), 9 + 30 * static_cast<int64_t>(i));
    text.options = drawn(tokens + static_cast<int64_t>(i));
    text.options.spec.mode = SpecMode::none;
    text.plain = generate(*engine, text.prompt, text.options).ids;
  }
  int64_t drafts = 0;
  // Each alone, then all in the same passes.
  for (size_t i = 0; i < texts.size(); ++i) {
    Text& text = texts[i];
    text.options.spec = drafts_of(kModes[i], text.prompt, text.plain);
    const Generation alone = generate(*engine, text.prompt, text.options);
    EXPECT_EQ(alone.ids, text.plain) << to_string(kModes[i]);
    drafts += alone.drafts.drafts;
  }
  Batcher batcher(*engine, 4);
  for (Text& text : texts)
    batcher.add(text.prompt, text.options, [&](Batcher::Result result) {
      if (result.error) std::rethrow_exception(result.error);
      text.drafted = result.generation.ids;
      drafts += result.generation.drafts.drafts;
    });
  while (batcher.step()) {
  }
  for (size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(texts[i].drafted, texts[i].plain) << to_string(kModes[i]);
  EXPECT_GT(drafts, 20);
}

TEST_P(DraftedOnDevices, write_what_plain_decoding_writes_whatever_the_drafts) {
  EngineOptions all = options(3, 64);
  all.spare_texts = 3;
  const auto engine = Engine::open(all);
  RandomDrafts drafts(*engine, *engine, 11);
  for (int round = 0; round < (is_slow() ? 2 : 6); ++round)
    drafts.expect_same_texts(1 + round % 3, is_slow() ? 12 : 40);
  EXPECT_GT(drafts.passes(), is_slow() ? 1 : 20);
}

INSTANTIATE_TEST_SUITE_P(On, DraftedOnDevices, ::testing::ValuesIn(ways_of_many()), test_name);

TEST(DraftedArchitectures, write_what_plain_decoding_writes) {
  for (const char* name : {"llama", "llama3-rope", "internlm2", "qwen2", "qwen3", "mixtral", "qwen2moe", "qwen3moe",
                           "olmoe", "phimoe", "deepseek", "deepseek2", "deepseek2-mla"}) {
    const auto model = larger_data(std::string("arch-models/") + name + "-F32.gguf");
    if (!model) continue;  // tests/data has some of them
    EngineOptions options =
        options_for(*model, {"host-only", {}, "", ActType::f32, KvType::f32, false, "predict", {"host"}});
    options.logit_rows = 16;
    options.context = 128;
    options.drafts = true;
    const auto engine = Engine::open(options);
    const std::vector<int32_t> prompt = {5, 17, 29, 5, 17, 31};
    GenerateOptions generation = drawn(50);
    generation.spec.mode = SpecMode::none;
    Sequence plain = engine->cache().new_sequence();
    const std::vector<int32_t> written = generate(*engine, plain, prompt, generation).ids;
    const Logits behind_plain = extend(*engine, plain, std::vector<int32_t>{7});
    const std::vector<float> expected(behind_plain.begin(), behind_plain.end());
    plain.rewind(0);
    for (const SpecMode mode : {SpecMode::sdnpu, SpecMode::sam}) {
      generation.spec = drafts_of(mode, prompt, written);
      Sequence text = engine->cache().new_sequence();
      const Generation drafted = generate(*engine, text, prompt, generation);
      EXPECT_EQ(drafted.ids, written) << name << " " << to_string(mode);
      EXPECT_TRUE(mode != SpecMode::sam || drafted.drafts.accepted > 5) << name;
      const Logits behind = extend(*engine, text, std::vector<int32_t>{7});
      EXPECT_TRUE(std::ranges::equal(behind, expected)) << name << " " << to_string(mode);
    }
  }
}

// Windows, latent attention and mixtures are among them. Thousands of passes with drafts, alone and in shared passes.
TEST(DraftedArchitectures, write_what_plain_decoding_writes_whatever_the_drafts) {
  int64_t passes = 0, trees = 0, accepted = 0;
  uint32_t seed = 0;
  const auto run = [&](const std::string& model) {
    SCOPED_TRACE(model);
    EngineOptions options =
        options_for(model, {"host-only", {}, "", ActType::f32, KvType::f32, false, "predict", {"host"}});
    options.logit_rows = 40;
    options.context = 128;
    options.sequences = 4;
    options.spare_texts = 4;
    options.drafts = true;
    const auto engine = Engine::open(options);
    RandomDrafts drafts(*engine, *engine, ++seed);
    for (int round = 0; round < 20; ++round) drafts.expect_same_texts(1 + round % 4, 80);
    passes += drafts.passes();
    trees += drafts.trees();
    accepted += drafts.accepted();
  };
  for (const char* name : {"llama", "llama3-rope", "internlm2", "qwen2", "qwen3", "mixtral", "qwen2moe", "qwen3moe",
                           "olmoe", "phimoe", "deepseek", "deepseek2", "deepseek2-mla"})
    if (const auto model = larger_data(std::string("arch-models/") + name + "-F32.gguf")) run(*model);
  for (const MadeModel& made : made_models()) run(made.file());
  std::cout << passes << " passes with drafts, " << trees << " of them with trees; " << accepted << " accepted\n";
  EXPECT_GT(passes, 1000);
  EXPECT_GT(trees, 300);
  EXPECT_GT(accepted, 500);
}

}  // namespace
}  // namespace tandem::testing
