// How a text is cut into words before merges, by the name that a file gives. Merges never cross a border between words,
// so a wrong cut gives other tokens.
#include "engine/model/tokenizer/pre_tokenizer.h"

#include "engine/model/tokenizer/utf8.h"
#include "sync/error.h"

namespace tandem {

namespace {

// Every pattern takes time linear in the text: it walks a run of characters once for each alternative, never once
// for each start. A pattern that does not match everywhere needs care for that: see DeepSeek LLM's blanks at the
// end of a text.

// GPT-2's pattern: contractions, letters, numbers and symbols with one blank in front, and runs of blanks. The last
// blank of a run stays with the word behind it.
const std::string kGpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// Llama 3's pattern: contractions in any case, words with one symbol in front, numbers of at most three digits.
const std::string kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// Qwen 2's pattern is that of Llama 3 with single digits.
const std::string kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// Words that are cut where capitals begin. `behind` is a pattern for what may follow a word.
std::string words_by_capitals(const std::string& upper, const std::string& lower, const std::string& behind) {
  const std::string before = R"([^\r\n\p{L}\p{N}]?)";
  return before + upper + "*" + lower + "+" + behind + "|" + before + upper + "+" + lower + "*" + behind;
}

const std::string kCapital = R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])", kSmall = R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])";
const std::string kContraction = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?";
const std::string kSymbolsAndBlanks = R"(| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

const std::string kGpt4o = words_by_capitals(kCapital, kSmall, kContraction) + R"(|\p{N}{1,3})" + kSymbolsAndBlanks;
const std::string kTekken = words_by_capitals(kCapital, kSmall, "") + R"(|\p{N})" + kSymbolsAndBlanks;
const std::string kYoutu = words_by_capitals(kCapital, kSmall, kContraction) + R"(|\p{N})" + kSymbolsAndBlanks;

const std::string kSeedCoder =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)";

// Symbols. Some of them may begin a word of ASCII letters.
const std::string kDeepSeekV3 =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|)"
    R"( ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// Runs of Han characters are pieces of their own and never part of a word. The published pattern intersects classes.
// PCRE2 needs a look-ahead at each character for that. A script without `sc` has its shared punctuation too in PCRE2.
const std::string kNotHan = R"((?!\p{sc:Han}))";
const std::string kKimi =
    R"(\p{sc:Han}+|)" +
    words_by_capitals("(?:" + kNotHan + kCapital + ")", "(?:" + kNotHan + kSmall + ")", kContraction) +
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// The letters with case, as DeepSeek LLM lists them. They are code points here, because many look alike and an editor
// may normalise them.
const std::string kCasedLetters =
    R"(\x{41}-\x{5A}\x{61}-\x{7A}\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF})"
    R"(\x{1C4}-\x{293}\x{295}-\x{2AF}\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386})"
    R"(\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1}\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556})"
    R"(\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF})"
    R"(\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D})"
    R"(\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D})"
    R"(\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3})"
    R"(\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107})"
    R"(\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126}\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134})"
    R"(\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4})"
    R"(\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D}\x{A680}-\x{A69B}\x{A722}-\x{A76F})"
    R"(\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17})"
    R"(\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB})"
    R"(\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943})";

// Runs of Chinese, Japanese and Korean characters, as DeepSeek published their ranges.
const std::string kCjk = R"([\x{4E00}-\x{9FA5}\x{0800}-\x{4E00}\x{AC00}-\x{D7FF}]+)";

// Digits in threes from the right, if no letter and no other number follows. Published as \d{1,3}(?=(?:\d{3})*\b),
// which looks to the end of the digits from each of their groups. Here only the first group does so.
const std::string kThousands = R"((?<!\d)\d{1,3}(?=(?:\d{3})*+(?![\p{L}\p{M}\p{N}\p{Pc}]))|\G(?<=\d)\d{3})";

// Pieces of a run of numbers. Published as borders of no width, in front of each three digits from the right:
// (?=(\d{3})+(?!\d)). Numbers that are no digits stay with what is in front of them.
const std::string kThousandsOfNumbers = R"(^\d{1,2}(?=(?:\d{3})++(?!\d))|\d{3}(?=\d)|)"
                                        R"(\d{0,3}(?!\d)(?:\D++(?:\d{1,2}(?!\d))?)*(?:\d{1,2}(?=(?:\d{3})++(?!\d)))?)";

// Each entry: names, patterns, ignore_merges, adds_bos.
const std::vector<PreTokenizerSpec>& table() {
  static const std::vector<PreTokenizerSpec> specs = {
      {{"default"}, {R"([\p{P}\$\+<=>\^~\|]+)", kGpt2, R"(\p{N}+)", "[0-9][0-9][0-9]"}},
      {{"gpt-2", "phi-2", "mpt", "olmo", "gigachat", "a.x-4.0", "mellum", "trillion", "granite-docling", "exaone4",
        "jina-v2-es", "jina-v2-de"},
       {kGpt2}},
      {{kRoberta}, {kGpt2}, false, true},
      {{"llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral", "midm-2.0"}, {kLlama3}, true, true},
      {{"dbrx", "smaug-bpe", "chatglm-bpe", "glm4"}, {kLlama3}},
      {{"smollm", "starcoder", "refact", "minerva-7b", "exaone", "command-r", "codeshell"}, {R"(\p{N})", kGpt2}},
      {{"qwen2", "deepseek-r1-qwen", "megrez", "kormo", "f2llmv2", "stablelm2", "hunyuan", "bailingmoe", "llada-moe",
        "solar-open"},
       {kQwen2}},
      {{"tekken"}, {kTekken}, true, true},
      {{"seed-coder"}, {kSeedCoder}},
      {{"viking"}, {R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{FF0C}\x{3001}\x{0964}\x{06D4}\x{060C})]+)", R"(\p{N})"}},
      {{"deepseek-llm"},
       {R"([\r\n])", R"(\s?[)" + kCasedLetters + "]+",
        R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)",
        // Published as \s+$. Its first match begins where the run of blanks begins. The look-behind states this, which
        // keeps long runs linear.
        R"((?<!\s)\s++$)", kCjk, R"(\p{N}+)"}},
      {{"deepseek-coder"}, {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", kCjk, R"(\p{N})"}},
      {{"deepseek-v3", "joyai-llm", "hunyuan-dense"},
       {R"(\p{N}{1,3})", R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)", kDeepSeekV3}},
      {{"kimi-k2"}, {kKimi}},
      {{"youtu"},
       {R"([\x{AC00}-\x{D7A3}\x{3131}-\x{318E}]+|)"
        R"([\x{FF01}\x{2026}\x{201C}\x{201D}\x{2018}\x{2019}\x{2014}\x{FF1A}\x{FF1B}\x{FF0C})"
        R"(\x{3001}-\x{303F}\x{FE30}-\x{FE4F}]+|)"
        R"([\x{3105}-\x{312F}]+|[\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)",
        kYoutu},
       true},
      {{"falcon"}, {R"([\p{P}\$\+<=>\^~\|`]+)", kGpt2, "[0-9][0-9][0-9]"}},
      {{"gpt-4o", "llama4", "kanana2"}, {kGpt4o}},
      {{"tiny_aya"}, {kThousands, kGpt4o}},
      {{"superbpe"}, {R"(\p{N}+)", kThousandsOfNumbers}},
  };
  return specs;
}

}  // namespace

std::span<const PreTokenizerSpec> pre_tokenizers() { return table(); }

// An unknown name is an error. A wrong pattern would cut words at other places, and the model would read other tokens.
const PreTokenizerSpec& find_pre_tokenizer(std::string_view name, const std::string& file) {
  if (name.empty()) name = "default";
  std::string known;
  for (const PreTokenizerSpec& spec : table()) {
    for (const std::string_view candidate : spec.names) {
      if (candidate == name) return spec;
      known += (known.empty() ? "" : ", ") + std::string(candidate);
    }
  }
  throw Error("unknown pre-tokenizer \"" + std::string(name) + "\"", file + ": tokenizer.ggml.pre",
              "supported: " + known);
}

// The patterns are compiled when a model is opened.
PreTokenizer::PreTokenizer(const PreTokenizerSpec& spec) {
  for (const std::string& pattern : spec.patterns) patterns_.emplace_back(pattern);
}

// Applies the patterns in order. Each one cuts the pieces that the patterns before it have left.
std::vector<TextSpan> PreTokenizer::cut(std::string_view text) const {
  if (text.empty()) return {};
  // These patterns treat U+0001 like U+FFFD: no letter, no number, no punctuation, no white space. It has one byte, so
  // offsets stay the same.
  const std::string readable = utf8::masked(text, '\x01');
  std::vector<TextSpan> pieces = {{0, text.size()}};
  for (const Regex& pattern : patterns_) pieces = pattern.cut(readable, pieces);
  return pieces;
}

}  // namespace tandem
