#include "sync/error.h"

#include <string_view>

#include "sync/printable_text.h"

namespace tandem {

// Texts may hold bytes of files, which are made printable before they reach a terminal.
Error::Error(const std::string& what, const std::string& on, const std::string& hint)
    : what_(printable_text(what)), on_(printable_text(on)), hint_(printable_text(hint)) {
  paragraph_ = what_;
  if (!on_.empty()) paragraph_ += ": " + on_;
  if (!hint_.empty()) paragraph_ += ". " + hint_;
}

// A check that fails is a fault of the program, so its message has the place and the condition.
void throw_check_failed(const char* expression, const char* file, int line, const std::string& detail) {
  std::string_view name(file);
  if (auto slash = name.rfind('/'); slash != std::string_view::npos) name.remove_prefix(slash + 1);
  throw Error("internal check failed", std::string(name) + ":" + std::to_string(line) + ": " + expression, detail);
}

}  // namespace tandem
