#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>

#include "tests/engine/model/tokenizer/vocabulary_file.h"

namespace tandem::testing {
namespace {

// A careless pattern or merge loop takes quadratic time on these texts. At this size that means hours, and ctest's time
// limit shows it.
constexpr size_t kBytes = 1'000'000;

std::vector<std::string> hard_texts() {
  std::string words, blanks(kBytes, ' '), lines(kBytes, '\n'), mixed;
  while (words.size() < kBytes) words += "hello";
  while (mixed.size() < kBytes) mixed += "HeLLo \t\n 12345 é中🦙'll ";
  std::string cjk, dots(kBytes, '.'), capitals(kBytes, 'A'), digits(kBytes, '7'), broken(kBytes, '\xFF');
  while (cjk.size() < kBytes) cjk += "工作";
  return {words, blanks, blanks + "x", blanks + "工", blanks + "7", lines + " x",
          mixed, cjk,    dots,         capitals,      digits,       broken};
}

void expect_round_trips(const std::string& name, const Tokenizer& tokenizer) {
  double slowest = 0;
  for (const std::string& text : hard_texts()) {
    const auto start = std::chrono::steady_clock::now();
    const std::vector<int32_t> ids = tokenizer.encode(text, {});
    slowest = std::max(slowest, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    EXPECT_TRUE(tokenizer.decode(ids, false) == text) << name << ": a text that begins with " << text.substr(0, 20);
  }
  std::printf("%-16s slowest text of 1 MB: %.2f s\n", name.c_str(), slowest);
}

class LongTexts : public ::testing::TestWithParam<const char*> {};

TEST_P(LongTexts, of_one_megabyte_encode_and_come_back) {
  expect_round_trips(GetParam(), *small_bpe(GetParam()).tokenizer());
}

INSTANTIATE_TEST_SUITE_P(Bpe, LongTexts,
                         ::testing::Values("default", "gpt-2", "llama-bpe", "smollm", "qwen2", "deepseek-llm",
                                           "deepseek-coder", "falcon", "gpt-4o", "tekken", "seed-coder", "deepseek-v3",
                                           "viking", "kimi-k2", "youtu", "tiny_aya", "superbpe"));

TEST(LongTexts, of_one_megabyte_encode_and_come_back_through_spm) {
  expect_round_trips("llama", *small_spm().tokenizer());
}

}  // namespace
}  // namespace tandem::testing
