#include "engine/model/tokenizer/utf8_stream.h"

#include "engine/model/tokenizer/utf8.h"

namespace tandem {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// Moves the whole characters of `pending` into the result; what stays is an unfinished one. Bytes of no character
// become U+FFFD, one for each longest broken part, wherever the pushes were cut.
std::string take_whole(std::string& pending) {
  std::string whole;
  size_t at = 0;
  while (at < pending.size()) {
    const utf8::Step next = utf8::step(std::string_view(pending).substr(at));
    if (next.kind == utf8::Kind::unfinished) break;
    whole += next.kind == utf8::Kind::character ? std::string_view(pending).substr(at, next.length) : kReplacement;
    at += next.length;
  }
  pending.erase(0, at);
  return whole;
}

}  // namespace

std::string Utf8Stream::push(std::string_view bytes) {
  pending_ += bytes;
  return take_whole(pending_);
}

std::string Utf8Stream::flush() {
  const bool unfinished = !pending_.empty();
  pending_.clear();
  return unfinished ? std::string(kReplacement) : std::string();
}

}  // namespace tandem
