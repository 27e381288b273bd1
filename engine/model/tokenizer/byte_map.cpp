// GPT-2's way to write bytes as printable characters. Vocabularies are stored in it, so texts are mapped before they
// are looked up.
#include "engine/model/tokenizer/byte_map.h"

#include <array>

#include "engine/model/tokenizer/utf8.h"

namespace tandem::byte_map {

namespace {

constexpr int kHighest = 0x100 + 68;  // one past the last character of the table

// Both directions of the map. Bytes that are not printable get the characters from U+0100 on, in order.
struct Table {
  std::array<std::string, 256> characters;
  std::array<int, kHighest> bytes;

  Table() {
    bytes.fill(-1);
    int next = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
      // The printable characters of Latin-1, less the blank, the no-break space and the soft hyphen.
      const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
      const int point = printable ? byte : next++;
      utf8::append(characters[byte], static_cast<char32_t>(point));
      bytes[point] = byte;
    }
  }
};

const Table& table() {
  static const Table built;
  return built;
}

}  // namespace

const std::string& character_of(uint8_t byte) { return table().characters[byte]; }

// Invalid UTF-8 is copied too, so an entry never loses bytes.
std::string bytes_of(std::string_view entry) {
  std::string bytes;
  while (!entry.empty()) {
    const utf8::Step next = utf8::step(entry);
    const std::string_view character = entry.substr(0, next.length);
    const char32_t point = next.kind == utf8::Kind::character ? utf8::code_point(character) : char32_t{kHighest};
    if (point < kHighest && table().bytes[point] >= 0) {
      bytes += static_cast<char>(table().bytes[point]);
    } else {
      bytes += character;
    }
    entry.remove_prefix(next.length);
  }
  return bytes;
}

}  // namespace tandem::byte_map
