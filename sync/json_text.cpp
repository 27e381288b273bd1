#include "sync/json_text.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sync/error.h"

namespace tandem {

namespace {

// Scans brackets outside of strings. For a text that is not JSON, either answer is fine. The parser's callback knows
// the depth too. But with a callback, the parser walks through all entries of an object whenever one of them ends.
bool nests_too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && in_string) ++i;
    if (c == '"') in_string = !in_string;
    if (in_string) continue;
    if ((c == '[' || c == '{') && ++depth > kMostJsonDepth) return true;
    if (c == ']' || c == '}') --depth;
  }
  return false;
}

}  // namespace

// The parser takes a byte 0 for the end of the text, so what stands behind it would be passed over.
nlohmann::json parse_json(std::string_view text) {
  if (text.find('\0') != text.npos || nests_too_deep(text)) return nlohmann::json(nlohmann::json::value_t::discarded);
  return nlohmann::json::parse(text, nullptr, false);
}

// Checks the kind and the size of the file before it reads a byte.
std::string read_json_file(const std::string& path, const std::string& what) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored)) {
    throw Error("cannot read " + what, path, "expected a regular file");
  }
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) throw Error("cannot open " + what, path, "check the path and the rights to read it");
  const auto bytes = static_cast<std::streamoff>(file.tellg());
  if (bytes < 0 || bytes > static_cast<std::streamoff>(kMostJsonBytes)) {
    throw Error("cannot read " + what, path, "expected at most " + std::to_string(kMostJsonBytes) + " bytes");
  }
  std::string text(static_cast<size_t>(bytes), '\0');
  file.seekg(0);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file) throw Error("cannot read " + what, path, "check the path and the rights to read it");
  return text;
}

}  // namespace tandem
