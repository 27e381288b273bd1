// Logits that are not finite give no token. They cause an Error that names the place where such numbers began.
#include "engine/run/pass/not_finite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "engine/run/serve/generate.h"
#include "tandem/generate.h"
#include "tests/engine/run/host_engine.h"

namespace tandem::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr float kNone = std::numeric_limits<float>::quiet_NaN(), kInfinite = std::numeric_limits<float>::infinity();
constexpr int32_t kBad = 310;  // the token with the damaged embedding

std::vector<std::byte> bytes_of(const std::vector<float>& values) {
  ByteSink sink;
  for (const float value : values) sink.put(value);
  return sink.bytes();
}

// A tiny model in which one tensor is replaced. Every element of the tensor is `value`.
class Damaged {
 public:
  Damaged(const std::string& tensor, std::vector<int64_t> shape, float value) {
    int64_t count = 1;
    for (const int64_t length : shape) count *= length;
    GgufWriter writer = tiny_writer({});
    writer.tensor(tensor, std::move(shape), StorageType::f32,
                  bytes_of(std::vector<float>(static_cast<size_t>(count), value)));
    write_file(path_, writer.bytes());
  }
  EngineOptions options() const {
    EngineOptions options;
    options.model_path = path_;
    options.plan = "host-only";
    options.devices = {"host"};
    options.measurements = "";
    return options;
  }

 private:
  const ScratchFolder folder_;
  const std::string path_ = folder_.file("damaged.gguf");
};

// A model in which only the embedding of token kBad is not finite.
class OneBadToken {
 public:
  OneBadToken() {
    const TinyModel tiny;
    std::mt19937_64 random(3);
    std::vector<float> rows(static_cast<size_t>(tiny.vocabulary * tiny.hidden));
    for (float& value : rows) value = static_cast<float>(random() % 2000) / 1000 - 1;
    std::fill_n(rows.begin() + kBad * tiny.hidden, tiny.hidden, kNone);
    GgufWriter writer = tiny_writer(tiny);
    writer.tensor("token_embd.weight", {tiny.hidden, tiny.vocabulary}, StorageType::f32, bytes_of(rows));
    write_file(path_, writer.bytes());
  }
  std::unique_ptr<Engine> open(int64_t sequences) const {
    EngineOptions options;
    options.model_path = path_;
    options.plan = "host-only";
    options.devices = {"host"};
    options.measurements = "";
    options.sequences = sequences;
    return Engine::open(options);
  }

 private:
  const ScratchFolder folder_;
  const std::string path_ = folder_.file("one_bad_token.gguf");
};

TEST(NotFinite, is_found_wherever_it_stands) {
  for (const size_t size : {1u, 63u, 64u, 65u, 200u}) {
    std::vector<float> values(size, 3.0e38f);
    EXPECT_TRUE(all_finite(values));
    for (const float bad : {kNone, -kNone, kInfinite, -kInfinite}) {
      for (const size_t at : {size_t{0}, size / 2, size - 1}) {
        std::vector<float> spoilt = values;
        spoilt[at] = bad;
        EXPECT_FALSE(all_finite(spoilt)) << bad << " at " << at << " of " << size;
      }
    }
  }
}

TEST(NotFinite, is_said_with_the_layer_where_it_began) {
  const auto why = [](const Damaged& model) {
    const auto engine = Engine::open(model.options());
    return message_of([&] { generate(*engine, some_ids(5), so_many(4)); });
  };
  const Damaged down("blk.1.ffn_down.weight", {96, 64}, kNone), norm("blk.0.attn_norm.weight", {64}, kInfinite),
      embedding("token_embd.weight", {64, 320}, kNone), output("output.weight", {64, 320}, kInfinite);
  EXPECT_THAT(why(down),
              AllOf(HasSubstr("the logits are not finite at token 4"), HasSubstr("layer 1, ffn_down on host")));
  EXPECT_THAT(why(norm), HasSubstr("layer 0, attn_norm on host"));
  EXPECT_THAT(why(embedding), HasSubstr("begin in token_embd on host"));
  EXPECT_THAT(why(output), HasSubstr("begin in output on host"));
}

// The keys exceed 65504, the largest half. They are infinite in a cache of halves, and finite in a cache of floats.
TEST(NotFinite, of_a_cache_of_halves_is_said_with_its_layer) {
  const Damaged keys("blk.1.attn_k.weight", {64, 32}, 3e5f);
  EngineOptions halves = keys.options(), floats = keys.options();
  halves.kv_type = KvType::f16;
  floats.kv_type = KvType::f32;
  const auto engine = Engine::open(halves), exact = Engine::open(floats);
  EXPECT_THAT(message_of([&] { generate(*engine, some_ids(5), so_many(4)); }),
              AllOf(HasSubstr("layer 1, attention"), HasSubstr("its keys and values"), HasSubstr("--cache-type f32")));
  EXPECT_EQ(generate(*exact, some_ids(5), so_many(4)).ids.size(), 4u);
}

TEST(NotFinite, ends_a_text_whatever_draws_its_tokens_and_however_few_are_asked_for) {
  const OneBadToken model;
  const auto engine = model.open(1);
  for (const bool drawn : {false, true}) {
    for (const int64_t tokens : {0, 1, 4}) {
      GenerateOptions options = so_many(tokens);
      options.sampler.temperature = drawn ? 1 : 0;
      std::string text;
      options.on_text = [&text](std::string_view piece) { text += piece; };
      EXPECT_THAT(message_of([&] {
                    generate(*engine, std::vector<int32_t>{3, 4, kBad}, options);
                  }),
                  HasSubstr("not finite at token 2"));
      EXPECT_EQ(text, "");
    }
  }
}

TEST(NotFinite, ends_one_text_of_many_and_no_other) {
  const OneBadToken model;
  const auto engine = model.open(4), alone = model.open(1);
  const std::vector<std::vector<int32_t>> prompts = {{5, 6, 7}, {8, kBad, 9}, {10, 11}, {8, kBad, 9, 4}, {8, 12}};
  std::vector<Batcher::Result> found(prompts.size());
  Batcher batcher(*engine, 4);
  for (size_t i = 0; i < prompts.size(); ++i)
    batcher.add(prompts[i], so_many(6), [&found, i](Batcher::Result result) { found[i] = std::move(result); });
  while (batcher.step()) {
  }
  for (const size_t i : {1u, 3u}) {
    ASSERT_NE(found[i].error, nullptr) << i;
    EXPECT_THAT(message_of([&] { std::rethrow_exception(found[i].error); }),
                AllOf(HasSubstr("not finite at token " + std::to_string(prompts[i].size() - 1)),
                      HasSubstr("token_embd on host")));
    EXPECT_TRUE(found[i].generation.ids.empty());
  }
  for (const size_t i : {0u, 2u, 4u}) {
    ASSERT_EQ(found[i].error, nullptr) << i;
    EXPECT_EQ(found[i].generation.ids, generate(*alone, prompts[i], so_many(6)).ids) << i;
  }
}

}  // namespace
}  // namespace tandem::testing
