// A compiled pattern that cuts text into pieces.
//
// Contract: PCRE2 with UTF and UCP. \s means Unicode's White_Space property (PCRE2's own \s also holds U+180E). Every
// match is a piece, and so is every stretch between matches. Look-ahead and look-behind do not see past the ends of a
// piece. Thread-safe after construction.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

// Bytes [begin, end) of a text.
struct TextSpan {
  size_t begin, end;
  bool operator==(const TextSpan&) const = default;
};

class Regex {
 public:
  explicit Regex(const std::string& pattern);
  Regex(Regex&&) noexcept;
  ~Regex();

  // Cuts each piece of `pieces` further. `text` is valid UTF-8, and no piece ends inside a character.
  std::vector<TextSpan> cut(std::string_view text, const std::vector<TextSpan>& pieces) const;

 private:
  struct Code;
  std::unique_ptr<Code> code_;
};

}  // namespace tandem
