// Text to token ids and back, from the vocabulary in a GGUF file.
//
// Contract: make_tokenizer() throws an Error that lists what is supported when the model or pre-tokenizer is unknown.
// encode() takes any bytes (invalid UTF-8 too). decode(encode(text)) gives the text back. Thread-safe after
// construction.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/gguf.h"

namespace tandem {

struct EncodeOptions {
  bool add_bos_eos = true;    // as the file's add_bos_token / add_eos_token say
  bool parse_special = true;  // special tokens in the text become their ids; else they are plain text
};

// A stretch of a text.
struct TextPart {
  std::string text;
  bool parse_special = false;  // as of EncodeOptions
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  virtual std::vector<int32_t> encode(std::string_view text, const EncodeOptions& options) const = 0;
  // One text of several parts. Plain text goes on from part to part: only special tokens divide it. The start token
  // that the file asks for comes first, unless the text begins with it; no end token follows.
  virtual std::vector<int32_t> encode(std::span<const TextPart> parts) const = 0;
  // The bytes of one token, as they appear in text; special tokens: their text when `special`, else nothing. May be
  // part of a character.
  virtual std::string piece(int32_t id, bool special) const = 0;
  virtual std::string decode(std::span<const int32_t> ids, bool special) const = 0;

  virtual int64_t size() const = 0;
  virtual int32_t bos() const = 0;  // -1: none
  virtual int32_t eos() const = 0;
  virtual bool is_end(int32_t id) const = 0;      // EOS, EOT, EOM ...: generation stops here
  virtual bool is_special(int32_t id) const = 0;  // control tokens
};

std::unique_ptr<Tokenizer> make_tokenizer(const GgufFile& file);

}  // namespace tandem
