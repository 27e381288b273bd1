// A GGUF file with metadata only, built in memory, and small vocabularies in it.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/model/gguf.h"
#include "engine/model/tokenizer.h"
#include "engine/model/tokenizer/byte_map.h"

namespace tandem::testing {

// Values by key, in the types that vocabularies use. Tests change single keys to make a broken file.
class VocabularyFile {
 public:
  using Value =
      std::variant<bool, uint32_t, std::string, std::vector<std::string>, std::vector<float>, std::vector<int32_t>>;

  Value& operator[](const std::string& key) { return values_["tokenizer.ggml." + key]; }
  void set_architecture(const std::string& name) { values_["general.architecture"] = name; }
  void erase(const std::string& key) { values_.erase("tokenizer.ggml." + key); }
  std::vector<std::string>& texts() { return std::get<std::vector<std::string>>((*this)["tokens"]); }
  std::vector<int32_t>& kinds() { return std::get<std::vector<int32_t>>((*this)["token_type"]); }

  // Appends a token. `kind` is the file's number: 1 normal, 2 unknown, 3 control, 4 user-defined, 6 byte.
  int32_t add(const std::string& text, int32_t kind = 1, float score = 0) {
    texts().push_back(text);
    kinds().push_back(kind);
    const auto scores = values_.find("tokenizer.ggml.scores");
    if (scores != values_.end()) std::get<std::vector<float>>(scores->second).push_back(score);
    return static_cast<int32_t>(texts().size()) - 1;
  }

  std::unique_ptr<Tokenizer> tokenizer() const {
    const std::string file = bytes();
    return make_tokenizer(GgufFile::parse(std::as_bytes(std::span(file)), "test.gguf"));
  }

 private:
  std::string bytes() const {
    std::string out = "GGUF";
    put(out, uint32_t{3});
    put(out, uint64_t{0});
    put(out, uint64_t{values_.size()});
    for (const auto& [key, value] : values_) {
      put(out, key);
      std::visit([&](const auto& v) { put_typed(out, v); }, value);
    }
    return out;
  }

  template <typename T>
  static void put(std::string& out, T number) {
    out.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  static void put(std::string& out, const std::string& text) {
    put(out, uint64_t{text.size()});
    out += text;
  }
  static constexpr uint32_t type_of(uint32_t) { return 4; }
  static constexpr uint32_t type_of(int32_t) { return 5; }
  static constexpr uint32_t type_of(float) { return 6; }
  static constexpr uint32_t type_of(bool) { return 7; }
  static uint32_t type_of(const std::string&) { return 8; }

  template <typename T>
  static void put_typed(std::string& out, const T& value) {
    put(out, type_of(value));
    put(out, value);
  }
  template <typename T>
  static void put_typed(std::string& out, const std::vector<T>& values) {
    put(out, uint32_t{9});
    put(out, type_of(T{}));
    put(out, uint64_t{values.size()});
    for (const T& value : values) put(out, value);
  }

  std::map<std::string, Value> values_;
};

// Has <unk> <s> </s>, the 256 byte tokens (id = byte + 3) and pieces of "hello world".
inline VocabularyFile small_spm() {
  VocabularyFile file;
  file["model"] = std::string("llama");
  file["tokens"] = std::vector<std::string>();
  file["token_type"] = std::vector<int32_t>();
  file["scores"] = std::vector<float>();
  file.add("<unk>", 2);
  file.add("<s>", 3);
  file.add("</s>", 3);
  constexpr char kDigits[] = "0123456789ABCDEF";
  for (int byte = 0; byte < 256; ++byte) file.add({'<', '0', 'x', kDigits[byte / 16], kDigits[byte % 16], '>'}, 6);
  float score = -1;
  for (const char* text :
       {"ll", "he", "▁w", "▁h", "or", "▁he", "▁wor", "▁hello", "llo", "ld", "▁", "h", "e", "l", "o", "w", "r", "d"}) {
    file.add(text, 1, score--);
  }
  return file;
}

// Has the 256 bytes (id = byte), the merges of " hello" and a control token <|endoftext|>.
inline VocabularyFile small_bpe(const std::string& pre = "gpt-2") {
  VocabularyFile file;
  file["model"] = std::string("gpt2");
  file["pre"] = pre;
  file["tokens"] = std::vector<std::string>();
  file["token_type"] = std::vector<int32_t>();
  for (int byte = 0; byte < 256; ++byte) file.add(byte_map::character_of(static_cast<uint8_t>(byte)));
  file["merges"] = std::vector<std::string>{"l l", "h e", "Ġ he", "ll o", "Ġhe llo"};
  for (const char* text : {"ll", "he", "Ġhe", "llo", "Ġhello"}) file.add(text);  // ids 256 to 260
  file.add("<|endoftext|>", 3);                                                  // id 261
  return file;
}

inline int32_t id_of(VocabularyFile& file, std::string_view text) {
  for (size_t id = 0; id < file.texts().size(); ++id) {
    if (file.texts()[id] == text) return static_cast<int32_t>(id);
  }
  return -1;
}

// The texts of the tokens, because a failed comparison of texts shows more than one of ids.
inline std::vector<std::string> pieces(const Tokenizer& tokenizer, std::string_view text, EncodeOptions options = {}) {
  std::vector<std::string> result;
  for (const int32_t id : tokenizer.encode(text, options)) result.push_back(tokenizer.piece(id, true));
  return result;
}

}  // namespace tandem::testing
