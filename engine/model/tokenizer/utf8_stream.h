// Text of tokens that come one by one: their bytes, in whole characters.
#pragma once

#include <string>
#include <string_view>

namespace tandem {

// Passes on only whole UTF-8 characters: bytes of an unfinished one wait for the rest. flush() gives what is left,
// invalid bytes replaced by U+FFFD.
class Utf8Stream {
 public:
  std::string push(std::string_view bytes);
  std::string flush();

 private:
  std::string pending_;
};

}  // namespace tandem
