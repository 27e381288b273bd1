// Finds special tokens within a text before it is tokenised. Longer marks win over shorter ones that they contain.
#include "engine/model/tokenizer/special_tokens.h"

#include <functional>
#include <map>
#include <utility>

#include "engine/model/tokenizer/utf8.h"

namespace tandem {

namespace {

// A text in angle or square brackets may be a mark of a chat template. Such a token is not looked for in texts that
// users wrote, so that they cannot write marks.
bool looks_like_mark(std::string_view text) {
  return text.size() > 2 &&
         ((text.front() == '<' && text.back() == '>') || (text.front() == '[' && text.back() == ']'));
}

}  // namespace

std::string_view without_leading_white_space(std::string_view text) {
  while (!text.empty()) {
    const utf8::Step first = utf8::step(text);
    const bool is_blank =
        first.kind == utf8::Kind::character && utf8::is_white_space(utf8::code_point(text.substr(0, first.length)));
    if (!is_blank) break;
    text.remove_prefix(first.length);
  }
  return text;
}

SpecialTokens::SpecialTokens(const Vocabulary& vocabulary)
    : all_(build(vocabulary, SpecialKinds::all)),
      user_defined_(build(vocabulary, SpecialKinds::user_defined)),
      no_marks_(build(vocabulary, SpecialKinds::no_marks)) {}

// Groups the tokens by length, longest first.
SpecialTokens::Levels SpecialTokens::build(const Vocabulary& vocabulary, SpecialKinds kinds) {
  std::map<size_t, Level, std::greater<>> by_length;
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    const std::string_view text = vocabulary.texts[id];
    const bool wanted =
        kinds == SpecialKinds::all ? vocabulary.stands_alone(id) : vocabulary.kinds[id] == TokenKind::user_defined;
    if (!wanted || text.empty() || (kinds == SpecialKinds::no_marks && looks_like_mark(text))) continue;
    Level& level = by_length[text.size()];
    level.length = text.size();
    level.ids[text] = id;
    level.begins[static_cast<uint8_t>(text[0])] = true;
  }
  Levels levels;
  for (auto& [length, level] : by_length) levels.push_back(std::move(level));
  return levels;
}

// Cuts a plain text at every token of one length, from left to right.
void SpecialTokens::split_level(const Level& level, std::string_view text, std::vector<Fragment>& fragments) {
  size_t done = 0;
  for (size_t at = 0; at + level.length <= text.size();) {
    // Few characters begin a token. The table of first bytes saves the look-up for all others.
    if (!level.begins[static_cast<uint8_t>(text[at])]) {
      ++at;
      continue;
    }
    const auto found = level.ids.find(text.substr(at, level.length));
    if (found == level.ids.end()) {
      ++at;
      continue;
    }
    if (at > done) fragments.push_back({text.substr(done, at - done)});
    fragments.push_back({found->first, found->second});
    done = at += level.length;
  }
  if (done < text.size()) fragments.push_back({text.substr(done)});
}

// Each length cuts only the plain text that longer tokens have left.
std::vector<Fragment> SpecialTokens::split(std::string_view text, SpecialKinds kinds) const {
  std::vector<Fragment> fragments;
  if (!text.empty()) fragments.push_back({text});
  const Levels& levels = kinds == SpecialKinds::all        ? all_
                         : kinds == SpecialKinds::no_marks ? no_marks_
                                                           : user_defined_;
  for (const Level& level : levels) {
    std::vector<Fragment> finer;
    finer.reserve(fragments.size());
    for (const Fragment& fragment : fragments) {
      if (fragment.id >= 0) {
        finer.push_back(fragment);
      } else {
        split_level(level, fragment.text, finer);
      }
    }
    fragments = std::move(finer);
  }
  return fragments;
}

}  // namespace tandem
