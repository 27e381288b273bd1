// BERT's tokenizer: words are folded, and each is cut from the left into the longest pieces that the vocabulary has.
#include "engine/model/tokenizer/wordpiece.h"

#include <algorithm>

#include "engine/model/tokenizer/bert_characters.h"
#include "engine/model/tokenizer/utf8.h"

namespace tandem {
namespace {

constexpr std::string_view kWordMark = "\xE2\x96\x81", kWithinMark = "##";
constexpr size_t kMostCharacters = 100;  // of a word; the published tokenizer gives up beyond

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

}  // namespace

// More tokens have the mark of the file's way than the other one: single tokens may happen to look like it.
WordPieceModel::WordPieceModel(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {
  const auto& texts = vocabulary.texts;
  const auto begin_with = [&](std::string_view mark) {
    return std::ranges::count_if(texts, [mark](const std::string& text) { return text.starts_with(mark); });
  };
  marks_words_ = begin_with(kWordMark) > begin_with(kWithinMark);
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    // Special tokens, and the reserved ones in brackets, are no parts of words.
    const std::string_view text = texts[static_cast<size_t>(id)];
    if (vocabulary.stands_alone(id) || (text.starts_with('[') && text.ends_with(']') && text.size() > 2)) continue;
    const std::string_view mark = marks_words_ ? kWordMark : kWithinMark;
    const bool has_mark = text.starts_with(mark) && text.size() > mark.size();
    const std::string_view plain = has_mark ? text.substr(mark.size()) : text;
    (has_mark == marks_words_ ? begins_ : within_).emplace(plain, id);
    longest_ = std::max(longest_, plain.size());
    lowers_ = lowers_ && std::ranges::none_of(plain, is_upper);
  }
}

// Cleans characters, sets ideographs and punctuation apart, and folds letters.
std::u32string WordPieceModel::normalised(std::string_view text) const {
  using namespace bert_characters;
  std::u32string clean;
  for (size_t at = 0; at < text.size();) {
    const utf8::Step step = utf8::step(text.substr(at));
    const std::string_view character = text.substr(at, step.length);
    at += step.length;
    if (step.kind != utf8::Kind::character) continue;
    const char32_t c = utf8::code_point(character);
    if (is_removed(c)) continue;
    const bool is_apart = is_ideograph(c);
    if (is_apart) clean += U' ';
    if (is_space(c))
      clean += U' ';
    else
      lowers_ ? append_folded(clean, c) : clean.push_back(c);
    if (is_apart) clean += U' ';
  }
  return clean;
}

// A text is cut into words first. Each word is cut into tokens by itself.
void WordPieceModel::encode(std::string_view text, bool, std::vector<int32_t>& ids) const {
  const std::u32string clean = normalised(text);
  const std::u32string_view all = clean;
  for (size_t at = 0; at < all.size();) {
    size_t end = at;
    while (end < all.size() && all[end] != U' ' && !bert_characters::is_punctuation(all[end])) ++end;
    if (end == at && all[at] != U' ') ++end;  // a mark of punctuation alone
    if (end > at) cut(all.substr(at, end - at), ids);
    at = std::max(end, at + 1);
  }
}

// Takes the longest token again and again. If no token begins at some place, the whole word is unknown.
void WordPieceModel::cut(std::u32string_view word, std::vector<int32_t>& ids) const {
  std::vector<size_t> ends;  // bytes behind each character
  std::string text;
  for (const char32_t c : word) {
    utf8::append(text, c);
    ends.push_back(text.size());
  }
  std::vector<int32_t> found;
  size_t at = 0;
  while (at < text.size() && word.size() <= kMostCharacters) {
    const auto& tokens = at == 0 ? begins_ : within_;
    auto token = tokens.end();
    for (size_t i = ends.size(); token == tokens.end() && i-- > 0 && ends[i] > at;)
      if (ends[i] - at <= longest_) token = tokens.find(std::string_view(text).substr(at, ends[i] - at));
    if (token == tokens.end()) break;
    found.push_back(token->second);
    at += token->first.size();
  }
  if (at == text.size())
    ids.insert(ids.end(), found.begin(), found.end());
  else if (vocabulary_.unknown >= 0)
    ids.push_back(vocabulary_.unknown);
}

// A token that begins a word has a blank before it.
std::string WordPieceModel::bytes(int32_t id) const {
  const std::string& text = vocabulary_.texts[static_cast<size_t>(id)];
  const std::string_view mark = marks_words_ ? kWordMark : kWithinMark;
  const bool has_mark = text.starts_with(mark) && text.size() > mark.size();
  const std::string plain = has_mark ? text.substr(mark.size()) : text;
  return has_mark == marks_words_ ? " " + plain : plain;
}

}  // namespace tandem
