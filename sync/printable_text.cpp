#include "sync/printable_text.h"

#include <cstddef>
#include <cstdio>

namespace tandem {
namespace {

// U+0080 to U+009F are controls too. In UTF-8 they begin with this byte.
constexpr unsigned char kBeginOfC1 = 0xc2;

bool is_second_of_c1(const std::string& text, size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  return at > 0 && static_cast<unsigned char>(text[at - 1]) == kBeginOfC1 && byte >= 0x80 && byte < 0xa0;
}

// Both bytes of a control character are escaped. One of them alone would be no UTF-8, which JSON cannot have.
bool is_control(const std::string& text, size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte == '\n' || byte == '\t') return false;
  if (byte < 0x20 || byte == 0x7f) return true;
  return is_second_of_c1(text, at) || (at + 1 < text.size() && is_second_of_c1(text, at + 1));
}

}  // namespace

// Escapes control characters, so that a name from a file cannot move the cursor or change the terminal.
std::string printable_text(const std::string& text) {
  std::string shown;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!is_control(text, i)) {
      shown += text[i];
      continue;
    }
    char code[5];
    std::snprintf(code, sizeof code, "\\x%02x", static_cast<unsigned char>(text[i]));
    shown += code;
  }
  return shown;
}

}  // namespace tandem
