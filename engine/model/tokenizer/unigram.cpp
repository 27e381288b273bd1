// Unigram's search: the best way to each place of the text, from left to right, and then back along the best way.
#include "engine/model/tokenizer/unigram.h"

#include <algorithm>
#include <limits>

#include "engine/model/tokenizer/sentence_piece.h"
#include "engine/model/tokenizer/utf8.h"

namespace tandem {
namespace {

constexpr float kUnknownPenalty = 10;
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// The best way to the end of a token: where the token begins, and the sum of scores.
struct Way {
  float score = 0;
  size_t begin = 0;
  int32_t id = -1;  // -1: the character is unknown
  bool is_reached = false;
};

}  // namespace

// Tokens of other kinds are never found in plain text.
UnigramModel::UnigramModel(const Vocabulary& vocabulary)
    : vocabulary_(vocabulary), charsmap_(vocabulary.charsmap, vocabulary.file) {
  float least = std::numeric_limits<float>::max();
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    const auto index = static_cast<size_t>(id);
    if (vocabulary.kinds[index] != TokenKind::normal || vocabulary.texts[index].empty()) continue;
    tokens_.emplace_back(vocabulary.texts[index], id);
    least = std::min(least, vocabulary.scores[index]);
  }
  std::ranges::sort(tokens_);
  // The first one counts of several tokens with one text.
  const auto is_same = [](const auto& a, const auto& b) { return a.first == b.first; };
  tokens_.erase(std::unique(tokens_.begin(), tokens_.end(), is_same), tokens_.end());
  unknown_score_ = (tokens_.empty() ? 0 : least) - kUnknownPenalty;
}

// Calls use(length, id) for the tokens that `text` begins with, shorter ones first. The tokens that share the bytes so
// far are a range, which each further byte narrows.
template <typename Use>
void UnigramModel::each_token_at(std::string_view text, const Use& use) const {
  auto first = tokens_.begin(), last = tokens_.end();
  for (size_t i = 0; i < text.size() && first != last; ++i) {
    const auto byte_of = [i](const auto& token) { return static_cast<uint8_t>(token.first[i]); };
    const auto byte = static_cast<uint8_t>(text[i]);
    if (first->first.size() == i) ++first;  // it has no further byte
    first = std::ranges::lower_bound(first, last, byte, {}, byte_of);
    last = std::ranges::upper_bound(first, last, byte, {}, byte_of);
    if (first != last && first->first.size() == i + 1) use(i + 1, first->second);
  }
}

// Replaces what the table names, and makes blanks visible. If runs of blanks become one, blanks at both ends go.
std::string UnigramModel::normalised(std::string_view text, bool at_start) const {
  using sentence_piece::kBlank;
  const bool single = vocabulary_.remove_extra_whitespaces;
  const std::string_view prefix = at_start && vocabulary_.add_space_prefix ? kBlank : std::string_view();
  std::string result(prefix);
  bool after_blank = single, is_empty = true;
  for (size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    Charsmap::Replaced part = charsmap_.at(rest);
    if (part.length == 0) {
      const utf8::Step step = utf8::step(rest);
      const bool is_character = step.kind == utf8::Kind::character;
      part = {is_character ? step.length : 1, is_character ? rest.substr(0, step.length) : kReplacement};
    }
    at += part.length;
    for (const char c : part.text) {
      const bool is_blank = c == ' ';
      if (is_blank && after_blank) continue;
      is_blank ? result += kBlank : result += c;
      after_blank = is_blank && single;
      is_empty = false;
    }
  }
  while (single && std::string_view(result).ends_with(kBlank)) result.resize(result.size() - kBlank.size());
  return is_empty ? "" : result;
}

// The bytes' tokens if all of them have one, else one unknown token.
void UnigramModel::append_unknown(std::string_view characters, std::vector<int32_t>& ids) const {
  if (!sentence_piece::append_bytes(vocabulary_, characters, ids) && vocabulary_.unknown >= 0)
    ids.push_back(vocabulary_.unknown);
}

// ways[i] is the best way to the end of the first i bytes. A character that is no token by itself may always be
// unknown, so that every place between characters is reached.
void UnigramModel::encode(std::string_view text, bool at_start, std::vector<int32_t>& ids) const {
  const std::string prepared = normalised(text, at_start);
  const std::string_view all = prepared;
  std::vector<Way> ways(all.size() + 1);
  ways[0].is_reached = true;
  for (size_t begin = 0; begin < all.size();) {
    const std::string_view rest = all.substr(begin);
    const size_t character = utf8::step(rest).length;
    bool is_token = false;
    const auto offer = [&](size_t length, float score, int32_t id) {
      Way& way = ways[begin + length];
      const float sum = ways[begin].score + score;
      if (!way.is_reached || sum > way.score) way = {sum, begin, id, true};
    };
    each_token_at(rest, [&](size_t length, int32_t id) {
      offer(length, vocabulary_.scores[static_cast<size_t>(id)], id);
      is_token = is_token || length == character;
    });
    if (!is_token) offer(character, unknown_score_, -1);
    begin += character;
  }
  // From the end to the beginning: tokens, and runs of unknown characters.
  std::vector<std::pair<int32_t, std::string_view>> found;
  for (size_t end = all.size(); end > 0; end = ways[end].begin) {
    const Way& way = ways[end];
    const std::string_view part = all.substr(way.begin, end - way.begin);
    if (way.id < 0 && !found.empty() && found.back().first < 0)
      found.back().second = {part.data(), part.size() + found.back().second.size()};
    else
      found.emplace_back(way.id, part);
  }
  for (auto at = found.rbegin(); at != found.rend(); ++at)
    at->first < 0 ? append_unknown(at->second, ids) : ids.push_back(at->first);
}

std::string UnigramModel::bytes(int32_t id) const { return sentence_piece::bytes_of(vocabulary_, id); }

}  // namespace tandem
