#include "engine/model/tokenizer/pre_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sync/error.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> cut(std::string_view name, std::string_view text) {
  std::vector<std::string> pieces;
  for (const TextSpan& span : PreTokenizer(find_pre_tokenizer(name, "test")).cut(text)) {
    pieces.emplace_back(text.substr(span.begin, span.end - span.begin));
  }
  return pieces;
}

TEST(PreTokenizer, gpt_2_cuts_contractions_words_numbers_symbols_and_blanks) {
  for (const char* name : {"gpt-2", "phi-2", "mpt", "olmo", "gigachat", "a.x-4.0", "mellum", "trillion",
                           "granite-docling", "exaone4", "jina-v2-es", "jina-v2-de"}) {
    EXPECT_THAT(cut(name, "I've 1234 x2  !?\n\n ok"),
                ElementsAre("I", "'ve", " 1234", " x", "2", " ", " !?", "\n\n", " ok"));
    EXPECT_THAT(cut(name, "don'T \t\nend  "), ElementsAre("don", "'", "T", " \t", "\n", "end", "  "));
  }
}

TEST(PreTokenizer, smollm_starcoder_and_refact_make_every_digit_a_piece_of_its_own) {
  for (const char* name : {"smollm", "starcoder", "refact", "minerva-7b", "exaone", "command-r", "codeshell"}) {
    // Blanks before a digit end their piece, so none of them joins the digit.
    EXPECT_THAT(cut(name, "a  12b 3½"), ElementsAre("a", "  ", "1", "2", "b", " ", "3", "½"));
  }
}

TEST(PreTokenizer, llama_bpe_takes_three_digits_and_a_leading_symbol_and_line_ends) {
  for (const char* name : {"llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral", "midm-2.0", "dbrx", "smaug-bpe",
                           "chatglm-bpe", "glm4"}) {
    EXPECT_THAT(cut(name, "Don'T 12345 (foo)!\n\n  x\r\n"),
                ElementsAre("Don", "'T", " ", "123", "45", " (", "foo", ")!\n\n", " ", " x", "\r\n"));
  }
}

TEST(PreTokenizer, qwen2_takes_digits_one_by_one) {
  for (const char* name : {"qwen2", "deepseek-r1-qwen", "megrez", "kormo", "f2llmv2", "stablelm2", "hunyuan",
                           "bailingmoe", "llada-moe", "solar-open"}) {
    EXPECT_THAT(cut(name, "We'Ve 33 \n\n y"), ElementsAre("We", "'Ve", " ", "3", "3", " \n\n", " y"));
  }
}

TEST(PreTokenizer, gpt_4o_cuts_where_capitals_begin_and_keeps_contractions_with_their_word) {
  for (const char* name : {"gpt-4o", "llama4", "kanana2"}) {
    EXPECT_THAT(cut(name, "fooBar HTTPServer don't WE'LL 1234 a/b//\n"),
                ElementsAre("foo", "Bar", " HTTPServer", " don't", " WE'LL", " ", "123", "4", " a", "/b", "//\n"));
    // Letters without case join either side. Marks stay with their letters.
    EXPECT_THAT(cut(name, "Ελλάδα中文ABC"), ElementsAre("Ελλάδα中文", "ABC"));
    EXPECT_THAT(cut(name, "e\xCC\x81t"), ElementsAre("e\xCC\x81t"));
  }
}

// The expected pieces are those of the library `tokenizers` for the published pattern, here and in the following tests.
TEST(PreTokenizer, tekken_cuts_where_capitals_begin_and_keeps_no_contraction_with_its_word) {
  EXPECT_THAT(cut("tekken", "fooBar HTTPServer don't WE'LL 1234 a/b//\n"),
              ElementsAre("foo", "Bar", " HTTPServer", " don", "'t", " WE", "'LL", " ", "1", "2", "3", "4", " a", "/b",
                          "//\n"));
  EXPECT_THAT(cut("tekken", "Ελλάδα中文ABC"), ElementsAre("Ελλάδα中文", "ABC"));
  EXPECT_THAT(cut("tekken", "e\xCC\x81t  x \n\n y"), ElementsAre("e\xCC\x81t", " ", " x", " \n\n", " y"));
}

TEST(PreTokenizer, seed_coder_leaves_line_ends_apart_from_symbols) {
  EXPECT_THAT(cut("seed-coder", "Don'T 12345 (foo)!\n\n  x\r\n"),
              ElementsAre("Don", "'T", " ", "1", "2", "3", "4", "5", " (", "foo", ")!", "\n\n", " ", " x", "\r\n"));
}

TEST(PreTokenizer, deepseek_v3_lets_a_symbol_begin_a_word_and_isolates_cjk) {
  for (const char* name : {"deepseek-v3", "joyai-llm", "hunyuan-dense"}) {
    EXPECT_THAT(
        cut(name, "It's 12345 (foo) a_b+c $x!\n\n  y"),
        ElementsAre("It", "'s", " ", "123", "45", " (", "foo", ")", " a", "_b", "+c", " $", "x", "!\n\n", " ", " y"));
    EXPECT_THAT(cut(name, "ラーメンは美味しい Führer"), ElementsAre("ラーメンは美味しい", " Führer"));
    EXPECT_THAT(cut(name, "#include <a.h> 中文abc  z"),
                ElementsAre("#include", " <", "a", ".h", ">", " ", "中文", "abc", " ", " z"));
  }
}

TEST(PreTokenizer, viking_cuts_at_punctuation_and_makes_every_digit_a_piece) {
  EXPECT_THAT(cut("viking", "Hei, 1234 maailma! (a|b)  don't…"),
              ElementsAre("Hei", ",", " ", "1", "2", "3", "4", " maailma", "! (", "a", "|", "b", ") ", " don't", "…"));
  EXPECT_THAT(cut("viking", "a  12b 3½"), ElementsAre("a", " ", " ", "1", "2", "b", " ", "3", "½"));
}

TEST(PreTokenizer, kimi_k2_keeps_han_characters_out_of_words) {
  EXPECT_THAT(cut("kimi-k2", "fooBar 我想在apple工作1314151天 don't WE'LL a/b//\n"),
              ElementsAre("foo", "Bar", " ", "我想在", "apple", "工作", "131", "415", "1", "天", " don't", " WE'LL",
                          " a", "/b", "//\n"));
  EXPECT_THAT(cut("kimi-k2", "Ελλάδα中文ABC 々x"), ElementsAre("Ελλάδα", "中文", "ABC", " ", "々", "x"));
  // The script has this punctuation in common with others.
  EXPECT_THAT(cut("kimi-k2", "中。'lx、「b」〇"), ElementsAre("中", "。'", "lx", "、「", "b", "」", "〇"));
}

TEST(PreTokenizer, youtu_isolates_scripts_of_east_asia_and_their_punctuation) {
  EXPECT_THAT(cut("youtu", "안녕 Hello don't 1234，“x” 中文abc ㄅㄆ a/b//\n"),
              ElementsAre("안녕", " Hello", " don't", " ", "1", "2", "3", "4", "，“", "x", "”", " ", "中文", "abc", " ",
                          "ㄅㄆ", " a", "/b", "//\n"));
  EXPECT_THAT(cut("youtu", "WE'LL かな！ok"), ElementsAre("WE'LL", " ", "かな", "！", "ok"));
}

TEST(PreTokenizer, tiny_aya_cuts_digits_in_threes_from_the_right_unless_letters_follow) {
  EXPECT_THAT(cut("tiny_aya", "Numbers like 1,234,567 and 89000."),
              ElementsAre("Numbers", " like", " ", "1", ",", "234", ",", "567", " and", " ", "89", "000", "."));
  EXPECT_THAT(cut("tiny_aya", "CamelCaseIDENTifier_v2 12345678x 1234_ 1234-5"),
              ElementsAre("Camel", "Case", "IDENTifier", "_v", "2", " ", "123", "456", "78", "x", " ", "123", "4", "_",
                          " ", "1", "234", "-", "5"));
  EXPECT_THAT(cut("tiny_aya", "1234½ don't"), ElementsAre("123", "4½", " don't"));
}

// A word is no border here, so one piece may hold many words. Expected: what the published patterns give in the
// tokenizers library of Hugging Face (0.23.3).
TEST(PreTokenizer, superbpe_cuts_numbers_alone) {
  EXPECT_THAT(cut("superbpe", "It was 12345678 by the way, 1234 and 123."),
              ElementsAre("It was ", "12", "345", "678", " by the way, ", "1", "234", " and ", "123", "."));
  EXPECT_THAT(cut("superbpe", "10² 1000² ½1234 ½123 12½123456"),
              ElementsAre("10²", " ", "1", "000²", " ", "½1", "234", " ", "½", "123", " ", "12½", "123", "456"));
}

// Several names may share a pattern and differ in their other properties.
TEST(PreTokenizer, of_a_name_say_whether_whole_pieces_skip_the_merges_and_whether_a_bos_is_added) {
  for (const PreTokenizerSpec& spec : pre_tokenizers()) {
    const std::set<std::string_view> names(spec.names.begin(), spec.names.end());
    const bool whole = names.contains("llama-bpe") || names.contains("tekken");
    EXPECT_EQ(spec.adds_bos, whole || names.contains("roberta-bpe")) << spec.names[0];
    EXPECT_EQ(spec.ignore_merges, whole || names.contains("youtu")) << spec.names[0];
  }
  EXPECT_EQ(&find_pre_tokenizer("", "test"), &find_pre_tokenizer("default", "test"));
  for (const char* name : {"falcon3", "pixtral", "midm-2.0"}) EXPECT_TRUE(find_pre_tokenizer(name, "test").adds_bos);
  for (const char* name : {"dbrx", "smaug-bpe"}) EXPECT_FALSE(find_pre_tokenizer(name, "test").ignore_merges);
}

TEST(PreTokenizer, of_roberta_has_gpt2s_words) {
  EXPECT_THAT(cut("roberta-bpe", "It's 12 a"), ElementsAre("It", "'s", " 12", " a"));
}

TEST(PreTokenizer, of_every_name_is_there_once) {
  std::set<std::string_view> seen;
  for (const PreTokenizerSpec& spec : pre_tokenizers())
    for (const std::string_view name : spec.names) EXPECT_TRUE(seen.insert(name).second) << name;
}

TEST(PreTokenizer, falcon_isolates_punctuation_and_cuts_numbers_into_threes_from_the_left) {
  EXPECT_THAT(cut("falcon", "a, b=1234567 `x`"),
              ElementsAre("a", ",", " b", "=", "123", "456", "7", " ", "`", "x", "`"));
  // " 1234567" is one piece before the last pattern, which cuts it into threes.
  EXPECT_THAT(cut("falcon", " 1234"), ElementsAre(" ", "123", "4"));
}

TEST(PreTokenizer, default_isolates_punctuation_but_not_the_grave_accent_and_cuts_numbers_off_their_blank) {
  EXPECT_THAT(cut("default", "a, `b` 1234"), ElementsAre("a", ",", " `", "b", "`", " ", "123", "4"));
}

TEST(PreTokenizer, deepseek_llm_isolates_line_ends_cased_words_and_cjk) {
  EXPECT_THAT(cut("deepseek-llm", "Ab c,  12\n\n我想x "),
              ElementsAre("Ab", " c", ",", "  ", "12", "\n", "\n", "我想", "x", " "));
  // The range of symbols runs from the colon to the tilde and includes the ASCII letters. So the published pattern cuts
  // words at other letters.
  EXPECT_THAT(cut("deepseek-llm", "«Führer»"), ElementsAre("«", "F", "ü", "hrer", "»"));
  EXPECT_THAT(cut("deepseek-llm", " нещо"), ElementsAre(" нещо"));
  EXPECT_THAT(cut("deepseek-llm", "a ！中"), ElementsAre("a", " ！", "中"));
  EXPECT_THAT(cut("deepseek-llm", "1   中"), ElementsAre("1", "   ", "中"));
}

TEST(PreTokenizer, deepseek_coder_isolates_digits_and_cjk) {
  EXPECT_THAT(cut("deepseek-coder", "x1 23\r\nfoo (中文a)"),
              ElementsAre("x", "1", " ", "2", "3", "\r", "\n", "foo", " (", "中文", "a", ")"));
}

TEST(PreTokenizer, white_space_is_what_unicode_calls_so) {
  // U+00A0, U+0085 and U+3000 are white space, U+180E and U+200B are not.
  EXPECT_THAT(cut("gpt-2", "a\xC2\xA0\xE3\x80\x80\xC2\x85z"),
              ElementsAre("a", "\xC2\xA0\xE3\x80\x80", "\xC2\x85", "z"));
  EXPECT_THAT(cut("gpt-2", "\xE1\xA0\x8E!\xE2\x80\x8B"), ElementsAre("\xE1\xA0\x8E!\xE2\x80\x8B"));
}

TEST(PreTokenizer, every_one_keeps_all_bytes_of_any_text_in_order) {
  std::string all_bytes;
  for (int i = 0; i < 512; ++i) all_bytes += static_cast<char>(i * 7);
  const std::string texts[] = {
      "", " ", "\n", "\xFF", "a\xC3", all_bytes, "x\xF0\x9F\xA6\x99\xED\xA0\x80 y", std::string("\0\0a\0", 4)};
  int checked = 0;
  for (const PreTokenizerSpec& spec : pre_tokenizers()) {
    const PreTokenizer pre_tokenizer(spec);
    for (const std::string& text : texts) {
      size_t at = 0;
      for (const TextSpan& span : pre_tokenizer.cut(text)) {
        EXPECT_EQ(span.begin, at);
        EXPECT_GT(span.end, span.begin);
        at = span.end;
        ++checked;
      }
      EXPECT_EQ(at, text.size()) << spec.names[0];
    }
  }
  EXPECT_GT(checked, 0);
}

TEST(PreTokenizer, an_unknown_name_is_an_error_that_lists_the_known_ones) {
  try {
    find_pre_tokenizer("nonesuch", "model.gguf");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("nonesuch"));
    EXPECT_THAT(error.what(), HasSubstr("model.gguf"));
    for (const char* name :
         {"default", "gpt-2", "llama-bpe", "smollm", "qwen2", "deepseek-llm", "deepseek-coder", "deepseek-r1-qwen",
          "starcoder", "refact", "falcon", "mpt", "gpt-4o", "olmo", "dbrx", "tekken"}) {
      EXPECT_THAT(error.hint(), HasSubstr(name));
    }
  }
}

}  // namespace
}  // namespace tandem
