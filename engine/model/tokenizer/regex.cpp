// Patterns of pre-tokenizers, run by PCRE2. They were written for other engines, and small differences between the
// engines are evened out here.
#include "engine/model/tokenizer/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <limits>

#include "engine/model/tokenizer/utf8.h"
#include "sync/error.h"

namespace tandem {

namespace {

constexpr std::string_view kWhiteSpace =
    R"(\x09-\x0D\x20\x85\xA0\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";

template <auto free_function>
struct Free {
  template <typename T>
  void operator()(T* object) const {
    free_function(object);
  }
};

// Replaces \s and \S by the characters of Unicode's White_Space, inside and outside of classes.
std::string with_white_space(std::string_view pattern) {
  std::string result;
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      const char escaped = pattern[++i];
      if (escaped == 's' && in_class) {
        result += kWhiteSpace;
      } else if (!in_class && (escaped == 's' || escaped == 'S')) {
        result += escaped == 's' ? "[" : "[^";
        result += kWhiteSpace;
        result += ']';
      } else {
        result += {c, escaped};
      }
      continue;
    }
    // Patterns of the table do not nest classes.
    if (c == '[') in_class = true;
    if (c == ']') in_class = false;
    result += c;
  }
  return result;
}

// PCRE2's own words for an error code.
std::string message_of(int code) {
  char text[256];
  pcre2_get_error_message(code, reinterpret_cast<PCRE2_UCHAR*>(text), sizeof text);
  return text;
}

}  // namespace

// Compiled once and shared by threads; each call has match data of its own.
struct Regex::Code {
  std::string pattern;  // as written, for errors
  std::unique_ptr<pcre2_code, Free<pcre2_code_free>> compiled;
  std::unique_ptr<pcre2_match_context, Free<pcre2_match_context_free>> context;
};

Regex::Regex(Regex&&) noexcept = default;
Regex::~Regex() = default;

// A pattern comes from this program's table, so a failure is a mistake of the table.
Regex::Regex(const std::string& pattern) : code_(std::make_unique<Code>()) {
  const std::string full = with_white_space(pattern);
  int error = 0;
  PCRE2_SIZE at = 0;
  code_->pattern = pattern;
  code_->compiled.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(full.data()), full.size(),
                                      PCRE2_UTF | PCRE2_UCP | PCRE2_DOLLAR_ENDONLY, &error, &at, nullptr));
  if (!code_->compiled) {
    throw Error("cannot compile a pre-tokenizer pattern", pattern, message_of(error) + " at " + std::to_string(at));
  }
  // Without JIT on this processor the interpreter gives the same results, only slower. So its failure is no error.
  pcre2_jit_compile(code_->compiled.get(), PCRE2_JIT_COMPLETE);
  // The patterns are linear on any text (see the table). The limits against runaway patterns would only fail
  // on long texts.
  code_->context.reset(pcre2_match_context_create(nullptr));
  pcre2_set_match_limit(code_->context.get(), std::numeric_limits<uint32_t>::max());
  pcre2_set_heap_limit(code_->context.get(), std::numeric_limits<uint32_t>::max());
}

// Matches from left to right. A match is a piece, and so is the text since the match before. If JIT's stack is too
// small for a long match, the interpreter tries again.
std::vector<TextSpan> Regex::cut(std::string_view text, const std::vector<TextSpan>& pieces) const {
  const std::unique_ptr<pcre2_match_data, Free<pcre2_match_data_free>> data(pcre2_match_data_create(1, nullptr));
  if (!data) throw Error("out of memory", "pre-tokenizer pattern " + code_->pattern);
  const PCRE2_SIZE* found = pcre2_get_ovector_pointer(data.get());

  std::vector<TextSpan> result;
  result.reserve(pieces.size());
  // The text between two matches is a piece as well, so the pieces have no gaps.
  for (const TextSpan& piece : pieces) {
    // Each piece is a subject of its own, so a look-around does not see the pieces beside it.
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data() + piece.begin);
    const size_t length = piece.end - piece.begin;
    size_t done = 0;  // the piece's bytes before it are in `result`
    for (size_t from = 0; from < length;) {
      const auto match = [&](uint32_t options) {
        return pcre2_match(code_->compiled.get(), subject, length, from, PCRE2_NO_UTF_CHECK | options, data.get(),
                           code_->context.get());
      };
      int count = match(0);
      if (count == PCRE2_ERROR_JIT_STACKLIMIT) count = match(PCRE2_NO_JIT);
      if (count == PCRE2_ERROR_NOMATCH) break;
      if (count < 0) throw Error("pre-tokenizing failed: " + message_of(count), "pattern " + code_->pattern);
      const size_t begin = found[0], end = found[1];
      if (end <= begin) {  // an empty match cuts nothing; step over one character
        from = begin < length ? begin + utf8::step(text.substr(piece.begin + begin)).length : length;
        continue;
      }
      if (begin > done) result.push_back({piece.begin + done, piece.begin + begin});
      result.push_back({piece.begin + begin, piece.begin + end});
      from = done = end;
    }
    if (done < length) result.push_back({piece.begin + done, piece.end});
  }
  return result;
}

}  // namespace tandem
