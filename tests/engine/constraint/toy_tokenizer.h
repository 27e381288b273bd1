// A tokenizer for tests of constraints: every byte is a token, and so are pieces of JSON, words, and
// parts of characters.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tandem/tokenizer.h"

namespace tandem::testing {

class ToyTokenizer : public Tokenizer {
 public:
  // missing: bytes that are no token of their own.
  explicit ToyTokenizer(const std::string& missing = "", uint32_t seed = 1) {
    for (int byte = 0; byte < 256; ++byte)
      if (const char c = static_cast<char>(byte); missing.find(c) == std::string::npos) texts_.emplace_back(1, c);
    for (const char* text :
         {"{\"",      "\":",  "\": ",     "\", \"",   "\"}",  "},",    "}]",   "[{",   "[]",
          "{}",       ", ",   ": ",       "null",     "true", "false", "nul",  "tr",   "\\u",
          "\\n",      "\\\"", "00",       "12",       "123",  "1.5",   "e-",   "-1",   "\xC3\xA9",
          "\xE4\xBD", "\xA0", "\xF0\x9F", "\x98\x80", "ab\"", "name",  "\"na", "e\":", "}}}}",
          "]]",       "  ",   " \n",      "0123",     "-0",   "99999", "abc",  "aaaa", "\xE4\xBD\xA0\xE5\xA5\xBD"})
      texts_.emplace_back(text);
    std::mt19937 random(seed);
    const std::string letters = "abcdefnrtu019 ,:\"\\{}[]-.eE";
    for (int i = 0; i < 600; ++i) {
      std::string text;
      for (uint32_t n = 2 + random() % 5; n > 0; --n) text += letters[random() % letters.size()];
      texts_.push_back(text);
    }
    end_ = static_cast<int32_t>(texts_.size());
    texts_.emplace_back("</s>");
  }

  std::vector<int32_t> encode(std::string_view text, const EncodeOptions&) const override {
    std::vector<int32_t> ids;
    for (const char c : text)
      for (int32_t id = 0; id < end_; ++id)
        if (texts_[static_cast<size_t>(id)] == std::string(1, c)) {
          ids.push_back(id);
          break;
        }
    return ids;
  }
  std::vector<int32_t> encode(std::span<const TextPart> parts) const override {
    return encode(parts.empty() ? "" : parts[0].text, {});
  }
  std::string piece(int32_t id, bool special) const override {
    return id == end_ && !special ? "" : texts_[static_cast<size_t>(id)];
  }
  std::string decode(std::span<const int32_t> ids, bool special) const override {
    std::string text;
    for (const int32_t id : ids) text += piece(id, special);
    return text;
  }
  int64_t size() const override { return static_cast<int64_t>(texts_.size()); }
  int32_t bos() const override { return -1; }
  int32_t eos() const override { return end_; }
  bool is_end(int32_t id) const override { return id == end_; }
  bool is_special(int32_t id) const override { return id == end_; }

 private:
  std::vector<std::string> texts_;
  int32_t end_ = 0;
};

}  // namespace tandem::testing
