// Bytes and characters. Models write tokens that end inside of a character, so texts come in pieces that are not valid
// by themselves.
#include "engine/model/tokenizer/utf8.h"

#include <cstdint>

namespace tandem::utf8 {

namespace {

uint8_t byte_at(std::string_view bytes, size_t i) { return static_cast<uint8_t>(bytes[i]); }

}  // namespace

// The lead byte gives the length. Only the second byte has a special range; later ones are 80 to BF.
Step step(std::string_view bytes) {
  const uint8_t lead = byte_at(bytes, 0);
  if (lead < 0x80) return {1, Kind::character};
  // C0 and C1 would begin overlong forms, F5 and above lie beyond U+10FFFF.
  if (lead < 0xC2 || lead > 0xF4) return {1, Kind::invalid};
  const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // The second byte's range excludes overlong forms (E0, F0), surrogates (ED) and code points above U+10FFFF (F4).
  uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (size_t i = 1; i < length; ++i) {
    if (i == bytes.size()) return {i, Kind::unfinished};
    if (byte_at(bytes, i) < low || byte_at(bytes, i) > high) return {i, Kind::invalid};
    low = 0x80;
    high = 0xBF;
  }
  return {length, Kind::character};
}

// The character was checked before, so only the bits are taken.
char32_t code_point(std::string_view character) {
  const uint8_t lead = byte_at(character, 0);
  if (character.size() == 1) return lead;
  // The lead byte of n bytes begins with n ones and a zero. The mask keeps the bits behind them.
  char32_t value = lead & (0x7F >> character.size());
  for (size_t i = 1; i < character.size(); ++i) value = value << 6 | (byte_at(character, i) & 0x3F);
  return value;
}

bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

// The lead byte of n bytes begins with n ones and a zero. Each further byte begins with 10 and holds 6 bits.
void append(std::string& text, char32_t code_point) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | (code_point >> shift & 0x3F)); };
  if (code_point < 0x80) {
    text += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    text += {static_cast<char>(0xC0 | code_point >> 6), tail(0)};
  } else if (code_point < 0x10000) {
    text += {static_cast<char>(0xE0 | code_point >> 12), tail(6), tail(0)};
  } else {
    text += {static_cast<char>(0xF0 | code_point >> 18), tail(12), tail(6), tail(0)};
  }
}

// Offsets stay the same, because every invalid byte is replaced by one byte.
std::string masked(std::string_view bytes, char stand_in) {
  std::string copy(bytes);
  for (size_t at = 0; at < bytes.size();) {
    const Step next = step(bytes.substr(at));
    if (next.kind != Kind::character) copy.replace(at, next.length, next.length, stand_in);
    at += next.length;
  }
  return copy;
}

// No character has the byte 0xFF.
bool is_valid(std::string_view bytes) { return masked(bytes, '\xFF').find('\xFF') == std::string::npos; }

}  // namespace tandem::utf8

namespace tandem {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// Moves the whole characters of `pending` into the result; an unfinished one stays. Invalid bytes become U+FFFD, one
// for each longest broken part, as in browsers. The result does not depend on where the pushes were cut, because a
// broken part is never decided before its end is known.
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

// An unfinished character at the end will never be complete, so one mark stands for it.
std::string Utf8Stream::flush() {
  const bool unfinished = !pending_.empty();
  pending_.clear();
  return unfinished ? std::string(kReplacement) : std::string();
}

}  // namespace tandem
