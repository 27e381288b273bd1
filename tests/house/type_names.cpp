#include "tests/house/type_names.h"

#include <algorithm>
#include <fstream>
#include <regex>
#include <vector>

namespace tandem::house {
namespace {

// Removes comments and literals, because their braces and words mean nothing here.
std::string bare_code(std::string_view text) {
  static const std::regex noise(R"(//[^\n]*|/\*[^]*?\*/|R"(\w*)\([^]*?\)\1"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')");
  return std::regex_replace(std::string(text), noise, " ");
}

enum class Scope { named, anonymous, other };
struct Open {
  Scope scope;
  std::string name;
};

std::string qualified(const std::vector<Open>& open, const std::string& name) {
  std::string full;
  for (const Open& o : open) full += o.name + "::";
  return full + name;
}

}  // namespace

std::set<std::string> defined_types(std::string_view text) {
  static const std::regex item(
      R"(\bnamespace\s*([\w:]*)\s*\{|\b(?:struct|class|enum(?:\s+class)?)\s+(?:alignas\(\w+\)\s*)?(\w+)(?:\s+final)?\s*(?::(?!:)[^{};()]*)?\{|[{}])");
  const std::string code = bare_code(text);
  std::set<std::string> types;
  std::vector<Open> open;
  for (std::sregex_iterator at(code.begin(), code.end(), item), end; at != end; ++at) {
    const std::string found = at->str();
    if (found == "}") {
      if (!open.empty()) open.pop_back();
    } else if (found.starts_with("namespace")) {
      open.push_back({(*at)[1].length() ? Scope::named : Scope::anonymous, (*at)[1].str()});
    } else {
      const std::string name = (*at)[2].str();
      const bool outside = std::all_of(open.begin(), open.end(), [](const Open& o) { return o.scope == Scope::named; });
      if (!name.empty() && outside) types.insert(qualified(open, name));
      open.push_back({Scope::other, name});
    }
  }
  return types;
}

TypeReport check_type_names(const std::filesystem::path& root) {
  std::map<std::string, std::set<std::string>> files;
  for (const char* folder : {"sync", "kernels", "shaders", "packed", "npu_emu", "engine", "include"}) {
    for (const auto& item : std::filesystem::recursive_directory_iterator(root / folder)) {
      if (item.path().extension() != ".h" && item.path().extension() != ".cpp") continue;
      std::ifstream in(item.path(), std::ios::binary);
      const std::string text(std::istreambuf_iterator<char>(in), {});
      for (const std::string& type : defined_types(text))
        files[type].insert(std::filesystem::relative(item.path(), root).generic_string());
    }
  }
  TypeReport report;
  report.types = static_cast<int>(files.size());
  for (auto& [type, where] : files)
    if (where.size() > 1) report.repeated.emplace(type, std::move(where));
  return report;
}

}  // namespace tandem::house
