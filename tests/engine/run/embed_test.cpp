// Vectors of texts: encoders beside their double-precision reference on every kind of plan, and decoders' states.
#include "tandem/embed.h"

#include "tests/engine/run/golden.h"
#include "tests/engine/run/joined_file.h"
#include "tests/engine/run/made_encoders.h"
#include "tests/engine/run/reference_encoders.h"
#include "tests/support/message_of.h"
#include "tests/support/scratch_folder.h"

namespace tandem::testing {
namespace {

using ::testing::HasSubstr;
using Texts = std::vector<std::vector<int32_t>>;

// Eight texts. The last one has tokens in two pages of the cache.
Texts eight_texts() {
  Texts texts;
  for (int64_t i = 0; i < 8; ++i) {
    texts.emplace_back();
    for (int64_t s = 0; s < (i == 7 ? 290 : 1 + 9 * i); ++s)
      texts.back().push_back(static_cast<int32_t>(3 + (s * 37 + i * 11) % 290));
  }
  return texts;
}

std::unique_ptr<Engine> embedding_engine(const std::string& path, const Way& way, int64_t chunk = 1024) {
  EngineOptions options = options_for(path, way);
  options.chunk = chunk;
  options.context = 300;
  options.sequences = 8;
  options.hidden_states = true;
  return shared_machines().open(options, machine_key(way));
}

class Encoders : public ::testing::TestWithParam<Way> {
 protected:
  void SetUp() override { need_devices(GetParam()); }
};

TEST_P(Encoders, give_the_vectors_of_their_descriptions) {
  const Texts texts = eight_texts();
  for (const MadeModel& made : made_encoders()) {
    SCOPED_TRACE(std::string(made.name) + " " + GetParam().name());
    const std::string path = made.file();
    const auto engine = embedding_engine(path, GetParam());
    const auto vectors = embed(*engine, texts);
    ASSERT_EQ(vectors.size(), texts.size());
    EXPECT_FALSE(engine->cache().has_sequences()) << "a pass leaves nothing in the cache";
    const GgufFile file = GgufFile::open(path);
    for (size_t i = 0; i < texts.size(); ++i) {
      const Row expected = pooled(reference_states(file, texts[i]), *engine->model().config().pooling);
      EXPECT_LE(cosine_distance(expected, vectors[i]), 1e-4) << "text " << i;
      // A text alone has the same bits.
      if (!engine->contract().bits_depend_on_passes) {
        EXPECT_EQ(embed(*engine, std::span(&texts[i], 1)).front(), vectors[i]) << "text " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Plans, Encoders,
    ::testing::Values(Way{"host-only", {}}, Way{"gpu-only", {}, "simd"}, Way{"gpu-only", {}, "simt"},
                      Way{"gpu-only", {}, "simd", {}, KvType::f16}, Way{"npu-only", {}}, Way{"layer", {}},
                      Way{"tensor", {0.5}}, Way{"staggered", {}}, Way{"sequence", {}},
                      Way{"gpu-only", {}, "simd", {}, KvType::f32, false, "predict", {"vulkan:0"}}),
    test_name);

// Converters write one tensor since 2025. The file with two tensors is checked above.
TEST(JinaEncoder, may_have_gate_and_up_in_one_tensor) {
  const Way host{"host-only", {}};
  const ScratchFolder folder;
  const std::string joined = folder.file("joined.gguf");
  for (const MadeModel& made : made_encoders()) {
    if (std::string_view(made.name) != "jina-bert-v2") continue;
    const std::string path = made.file(StorageType::q8_0);
    write_joined(path, "ffn_gate.weight", "ffn_up.weight", "ffn_up.weight", joined);
    const Texts texts = eight_texts();
    EXPECT_EQ(embed(*embedding_engine(joined, host), texts), embed(*embedding_engine(path, host), texts));
    return;
  }
  FAIL() << "no such encoder";
}

class EncoderBits : public Encoders {};

TEST_P(EncoderBits, are_those_of_the_host) {
  SKIP_WHERE_SUMS_DIFFER(ActType::f16);
  const Texts texts = eight_texts();
  for (const MadeModel& made : made_encoders()) {
    SCOPED_TRACE(made.name);
    const std::string path = made.file(StorageType::q8_0);
    const auto host = embedding_engine(path, Way{"host-only", {}, "", ActType::f16});
    const auto engine = embedding_engine(path, GetParam());
    EXPECT_EQ(embed(*engine, texts), embed(*host, texts));
  }
}

INSTANTIATE_TEST_SUITE_P(Plans, EncoderBits,
                         ::testing::Values(Way{"gpu-only", {}, "simd", ActType::f16}, Way{"npu-only", {}},
                                           Way{"layer", {}}, Way{"tensor", {0.5}}),
                         test_name);

const Way kHost{"host-only", {}};

TEST(Embed, reads_every_storage_type_near_the_vectors_of_f32) {
  const Texts texts = eight_texts();
  const auto exact = embed(*embedding_engine(made_encoders()[0].file(), kHost), texts);
  for (const StorageType type : {StorageType::f16, StorageType::bf16, StorageType::q8_0}) {
    const auto other = embed(*embedding_engine(made_encoders()[0].file(type), kHost), texts);
    // Other types have other random codes, so only the shape and the length are known.
    ASSERT_EQ(other.size(), exact.size());
    for (const auto& vector : other) {
      double square = 0;
      for (const float value : vector) square += static_cast<double>(value) * value;
      EXPECT_NEAR(square, 1, 1e-5);
    }
  }
}

TEST(Embed, makes_a_text_of_its_first_token_its_last_or_their_mean) {
  const std::string path = made_encoders()[0].file();
  const auto engine = embedding_engine(path, kHost);
  const Texts texts{{5, 9, 200, 31}};
  const Rows states = reference_states(GgufFile::open(path), texts[0]);
  for (const Pooling pooling : {Pooling::mean, Pooling::cls, Pooling::last}) {
    const auto vector = embed(*engine, texts, {.pooling = pooling}).front();
    EXPECT_LE(cosine_distance(pooled(states, pooling), vector), 1e-6);
  }
  EXPECT_THAT(test::message_of([&] { embed(*engine, texts, {.pooling = Pooling::none}); }), HasSubstr("--pooling"));
  EXPECT_THAT(test::message_of([&] { embed(*engine, texts, {.pooling = Pooling::rank}); }),
              HasSubstr("compares two texts"));
}

TEST(Embed, keeps_the_length_of_a_vector_when_asked) {
  const std::string path = made_encoders()[0].file();
  const auto engine = embedding_engine(path, kHost);
  const Texts texts{{5, 9, 200, 31}};
  const Rows states = reference_states(GgufFile::open(path), texts[0]);
  const auto vector = embed(*engine, texts, {.normed = false}).front();
  for (size_t i = 0; i < vector.size(); ++i) EXPECT_NEAR(vector[i], states[0][i], 1e-3) << i;
}

TEST(Embed, refuses_what_no_pass_of_an_encoder_takes) {
  const auto engine = embedding_engine(made_encoders()[0].file(), kHost, 40);
  EXPECT_THAT(test::message_of([&] { embed(*engine, Texts{std::vector<int32_t>(41, 5)}); }), HasSubstr("--chunk 41"));
  EXPECT_THAT(test::message_of([&] { embed(*engine, Texts{std::vector<int32_t>(301, 5)}); }), HasSubstr("context"));
  EXPECT_THAT(test::message_of([&] { embed(*engine, Texts{{}}); }), HasSubstr("without tokens"));
  EXPECT_THAT(test::message_of([&] { embed(*engine, Texts{{320}}); }), HasSubstr("outside the vocabulary"));
  EXPECT_EQ(embed(*engine, Texts{std::vector<int32_t>(40, 5)}).size(), 1u);
  EXPECT_TRUE(embed(*engine, Texts{}).empty());
}

TEST(Embed, reads_a_text_of_an_encoder_as_one_piece) {
  const auto engine = embedding_engine(made_encoders()[0].file(), kHost);
  const std::vector<int32_t> ids{5, 9};
  Sequence text = engine->cache().new_sequence();
  engine->extend(std::vector<Extension>{{&text, ids, 2}});
  EXPECT_THAT(test::message_of([&] {
                engine->extend(std::vector<Extension>{{&text, ids, 2}});
              }),
              HasSubstr("one piece"));
}

TEST(Embed, says_that_an_encoder_writes_no_text) {
  EXPECT_THAT(test::message_of([] { open_engine(made_encoders()[0].file(), kHost); }), HasSubstr("`tandem embed`"));
}

TEST(Embed, takes_the_states_of_a_decoder_whatever_its_passes_are) {
  const std::string path = repository_data("mixed-models/first.gguf");
  EngineOptions options = options_for(path, kHost);
  options.hidden_states = true;
  options.sequences = 4;
  options.context = 256;
  options.chunk = 16;
  const auto engine = shared_machines().open(options, machine_key(kHost));
  Texts texts{{5, 9, 20, 31}, {7, 8}, {}};
  for (int32_t i = 0; i < 50; ++i) texts[2].push_back(3 + i);
  for (const Pooling pooling : {Pooling::mean, Pooling::cls, Pooling::last}) {
    const auto all = embed(*engine, texts, {.pooling = pooling});
    for (size_t i = 0; i < texts.size(); ++i)
      EXPECT_EQ(embed(*engine, std::span(&texts[i], 1), {.pooling = pooling}).front(), all[i]) << i;
  }
  // The last token's logits are its state times the output matrix: the state of another last token differs.
  EXPECT_EQ(embed(*engine, texts), embed(*engine, texts, {.pooling = Pooling::last}));
  EXPECT_NE(embed(*engine, Texts{{5, 9, 20, 31}}), embed(*engine, Texts{{5, 9, 20, 32}}));
}

}  // namespace
}  // namespace tandem::testing
