// Ids and texts of real vocabularies. The tests skip if the data is missing.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/model/gguf.h"
#include "engine/model/tokenizer.h"
#include "engine/model/tokenizer/utf8.h"
#include "tests/support/data.h"
#include "tests/support/requirements.h"

namespace tandem::testing {
namespace {

constexpr EncodeOptions kGoldenIds = {.add_bos_eos = false, .parse_special = true};
constexpr EncodeOptions kGoldenPlain = {.add_bos_eos = false, .parse_special = false};

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> split(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  size_t at = 0;
  for (size_t next; (next = text.find(separator, at)) != std::string::npos; at = next + separator.size()) {
    parts.push_back(text.substr(at, next - at));
  }
  parts.push_back(text.substr(at));
  return parts;
}

// The vocabulary of a pair of files: its own, or that of the base model.
std::optional<std::string> vocabulary_of(const std::string& pair) {
  const bool distilled = pair == "ggml-vocab-deepseek-r1-qwen";
  return test_data("tokenizers/" + (distilled ? "ggml-vocab-qwen2" : pair) + ".gguf");
}

std::vector<std::string> texts_in(const std::string& folder) {
  std::vector<std::string> paths;
  if (const auto at = test_data(folder)) {
    for (const auto& entry : std::filesystem::directory_iterator(*at)) paths.push_back(entry.path().string());
  }
  return paths;
}

class GoldenVocabulary : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenVocabulary, gives_the_published_ids_for_every_text_and_decodes_to_it) {
  const auto vocabulary = vocabulary_of(GetParam());
  const auto inputs = test_data(std::string("tokenizers/") + GetParam() + ".gguf.inp");
  const auto outputs = test_data(std::string("tokenizers/") + GetParam() + ".gguf.out");
  if (!vocabulary || !inputs || !outputs) SKIP_FOR_WANT_OF(data, "no vocabularies");
  const auto tokenizer = make_tokenizer(GgufFile::open(*vocabulary));
  const std::vector<std::string> texts = split(read(*inputs), "\n__ggml_vocab_test__\n");
  std::vector<std::string> lines = split(read(*outputs), "\n");
  ASSERT_GE(lines.size(), texts.size());
  ASSERT_GT(texts.size(), 40u);
  for (size_t i = 0; i < texts.size(); ++i) {
    std::istringstream line(lines[i]);
    const std::vector<int32_t> expected{std::istream_iterator<int32_t>(line), {}};
    EXPECT_EQ(tokenizer->encode(texts[i], kGoldenPlain), expected)
        << "text " << i << ": " << ::testing::PrintToString(texts[i]);
    EXPECT_EQ(tokenizer->decode(expected, false), texts[i]);
  }
}

TEST_P(GoldenVocabulary, gives_back_prose_code_and_tables_in_many_languages) {
  const auto vocabulary = vocabulary_of(GetParam());
  std::vector<std::string> paths = texts_in("multilingual");
  for (const std::string& path : texts_in("text")) paths.push_back(path);
  if (!vocabulary || paths.empty()) SKIP_FOR_WANT_OF(data, "no vocabularies or no texts");
  const auto tokenizer = make_tokenizer(GgufFile::open(*vocabulary));
  double seconds = 0, bytes = 0;
  for (const std::string& path : paths) {
    const std::string text = read(path);
    const auto start = std::chrono::steady_clock::now();
    const std::vector<int32_t> ids = tokenizer->encode(text, kGoldenIds);
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    bytes += static_cast<double>(text.size());
    EXPECT_TRUE(tokenizer->decode(ids, true) == text) << path;
    // Token by token through a stream the characters are the same, after the blank that SentencePiece puts before
    // a text.
    Utf8Stream stream;
    std::string streamed;
    for (const int32_t id : tokenizer->encode(text, kGoldenPlain)) streamed += stream.push(tokenizer->piece(id, true));
    streamed += stream.flush();
    EXPECT_TRUE(streamed == text || streamed == " " + text) << path;
  }
  std::printf("%s: %.2f MB/s\n", GetParam(), bytes / seconds / 1e6);
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenVocabulary,
                         ::testing::Values("ggml-vocab-deepseek-llm", "ggml-vocab-deepseek-r1-qwen", "ggml-vocab-gpt-2",
                                           "ggml-vocab-llama-bpe", "ggml-vocab-llama-spm", "ggml-vocab-qwen2"));

TEST(GoldenModels, smollm2_gives_the_golden_ids) {
  const auto model = default_model();
  if (!model) SKIP_FOR_WANT_OF(data, kNoDefaultModel);
  const auto tokenizer = make_tokenizer(GgufFile::open(*model));
  const nlohmann::json json = nlohmann::json::parse(read(repository_data("smollm2/golden.json")));
  int checked = 0;
  for (const auto& prompt : json["prompts"]) {
    EXPECT_EQ(tokenizer->encode(prompt["text"].get<std::string>(), {}), prompt["ids"].get<std::vector<int32_t>>())
        << prompt["name"];
    EXPECT_EQ(tokenizer->decode(prompt["greedy"].get<std::vector<int32_t>>(), true),
              prompt["greedy_text"].get<std::string>());
    ++checked;
  }
  EXPECT_GT(checked, 0);
  EXPECT_TRUE(tokenizer->is_end(2));
  EXPECT_TRUE(tokenizer->is_end(0)) << "<|endoftext|> ends a text though the file names another token";

  const auto wikitext = larger_data("text/" + json["perplexity"]["text"].get<std::string>());
  if (!wikitext) return;
  std::vector<int32_t> ids = tokenizer->encode(read(*wikitext), {});
  const auto first = json["perplexity"]["ids_first16"].get<std::vector<int32_t>>();
  ASSERT_GE(ids.size(), first.size());
  ids.resize(first.size());
  EXPECT_EQ(ids, first);
}

TEST(GoldenModels, tiny_models_give_the_golden_ids) {
  int checked = 0;
  for (const auto& run : nlohmann::json::parse(read(repository_data("tiny-models/golden/golden.json")))) {
    const auto model = larger_data("tiny-models/" + run["gguf"].get<std::string>());
    if (!model) continue;
    const auto tokenizer = make_tokenizer(GgufFile::open(*model));
    EXPECT_EQ(tokenizer->encode(run["prompt"].get<std::string>(), {}), run["prompt_ids"].get<std::vector<int32_t>>())
        << run["gguf"];
    std::string text;
    for (const auto& id : run["greedy_ids"]) text += tokenizer->piece(id.get<int32_t>(), false);
    EXPECT_EQ(text, run["greedy_text"].get<std::string>()) << run["gguf"];
    ++checked;
  }
  EXPECT_GT(checked, 0);
}

}  // namespace
}  // namespace tandem::testing
