// Turns text into token ids and back.
//
// Contract: encode() takes any bytes, invalid UTF-8 too. decode(encode(text)) is the text again. Thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

struct EncodeOptions {
  bool add_bos_eos = true;    // as the file's add_bos_token and add_eos_token say
  bool parse_special = true;  // special tokens in the text become their ids; false: they are plain text
};

// One of the parts that a text consists of.
struct TextPart {
  std::string text;
  bool parse_special = false;  // see EncodeOptions
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  virtual std::vector<int32_t> encode(std::string_view text, const EncodeOptions& options) const = 0;
  // One text of several parts. Plain text continues from part to part; only special tokens divide it. The start token
  // comes first if the file asks for it and the text does not begin with it. No end token follows.
  virtual std::vector<int32_t> encode(std::span<const TextPart> parts) const = 0;
  // The bytes of one token in a text; they may be part of a character. Special tokens: their text if `special`,
  // else nothing.
  virtual std::string piece(int32_t id, bool special) const = 0;
  virtual std::string decode(std::span<const int32_t> ids, bool special) const = 0;

  virtual int64_t size() const = 0;
  virtual int32_t bos() const = 0;  // -1: none
  virtual int32_t eos() const = 0;
  virtual bool is_end(int32_t id) const = 0;      // EOS, EOT, EOM ...: generation stops here
  virtual bool is_special(int32_t id) const = 0;  // control tokens
};

}  // namespace tandem
