#include "tests/house/floors.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <regex>

namespace tandem::house {

namespace {

constexpr int kTop = 9;

const FloorFolder* folder_of(std::string_view path) {
  for (const FloorFolder& entry : floor_table()) {
    if (path.size() > entry.folder.size() && path.starts_with(entry.folder) && path[entry.folder.size()] == '/') {
      return &entry;
    }
  }
  return nullptr;
}

// The path between the quotes of an #include line.
std::optional<std::string> quoted_include(const std::string& line) {
  static const std::regex pattern(R"re(^\s*#\s*include\s*"([^"]+)")re");
  std::smatch match;
  if (!std::regex_search(line, match, pattern)) return std::nullopt;
  return match[1].str();
}

// The code of one line without comments. `in_comment` carries /* ... */ from line to line.
std::string without_comments(const std::string& line, bool& in_comment) {
  std::string code;
  bool in_string = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (in_comment) {
      if (line.compare(i, 2, "*/") == 0) {
        in_comment = false;
        ++i;
      }
      continue;
    }
    if (!in_string && line.compare(i, 2, "//") == 0) break;
    if (!in_string && line.compare(i, 2, "/*") == 0) {
      in_comment = true;
      ++i;
      continue;
    }
    if (line[i] == '"' && (i == 0 || line[i - 1] != '\\')) in_string = !in_string;
    code += line[i];
  }
  return code;
}

bool is_kernel_source(const std::filesystem::path& path) {
  return path.extension() == ".cl" || path.extension() == ".comp" || path.extension() == ".glsl";
}

bool is_source(const std::filesystem::path& path) {
  return is_kernel_source(path) || path.extension() == ".h" || path.extension() == ".cpp" || path.extension() == ".inc";
}

}  // namespace

const std::vector<FloorFolder>& floor_table() {
  static const std::vector<FloorFolder> table = {
      {"include/tandem", 0, 2},
      {"tandem", 0, 1},  // the same folder, as an #include names it
      {"sync", 1},
      {"kernels", 1},
      {"shaders", 1},
      {"packed", 2, 1},
      {"npu_emu", 2, 2},
      {"engine/tensor", 2, 2},
      {"engine/device", 3},
      {"engine/model", 3},
      {"engine/graph", 4},
      {"engine/plan/partition", 5, 1},
      {"engine/plan/strategies", 5, 3},
      {"engine/plan/prediction", 5, 3},
      {"engine/plan/model_clock", 5, 4},
      {"engine/plan", 5, 2},
      {"engine/moe", 5, 1},
      {"engine/draft", 5, 1},
      {"engine/constraint", 5, 1},
      {"engine/run/pass", 6, 1},
      {"engine/run/choice", 6, 2},
      {"engine/run/machine", 6, 3},
      {"engine/run/cache", 6, 4},
      {"engine/run/serve", 6, 6},
      {"engine/run", 6, 5},
      {"engine/measure", 7},
      {"engine/lab", 7},
      {"engine/serve/http", 7, 1},
      {"engine/serve/openai", 7, 1},
      {"engine/serve/page", 7, 2},
      {"engine/serve/timeline", 7, 2},
      {"engine/serve/api", 7, 3},
      {"engine/app", 8},
      {"bindings/c", 8, 2},
      {"bindings", 8, 1},
      {"python", 8, 2},
      {"tests", kTop},
      {"bench", kTop},
  };
  return table;
}

std::vector<std::string> check_includes(std::string_view path, std::string_view text) {
  std::vector<std::string> violations;
  const FloorFolder* own = folder_of(path);
  int number = 0;
  bool in_comment = false;
  size_t begin = 0;
  while (begin < text.size()) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string code = without_comments(std::string(text.substr(begin, end - begin)), in_comment);
    begin = end + 1;
    ++number;
    std::optional<std::string> included = quoted_include(code);
    if (!included) continue;
    // Kernel sources may include their neighbours by name alone. The headers of libraries are on no floor.
    const bool bare = included->find('/') == std::string::npos;
    if (bare && own && is_kernel_source(std::string(path))) continue;
    if (!bare && !folder_of(*included) && !included->starts_with("engine/") &&
        included->find("..") == std::string::npos)
      continue;
    std::string at = std::string(path) + ":" + std::to_string(number) + ": ";
    const FloorFolder* target = folder_of(*included);
    if (!own) {
      violations.push_back(at + "this folder is on no floor");
    } else if (!target || included->find("..") != std::string::npos) {
      violations.push_back(at + "\"" + *included + "\" is not written from the root of the tree, or is on no floor");
    } else if (target->floor > own->floor) {
      violations.push_back(at + "\"" + *included + "\" goes up, from floor " + std::to_string(own->floor) +
                           " to floor " + std::to_string(target->floor));
    } else if (target->floor == own->floor && target->room > 0 && own->room > 0) {
      if (target != own && target->room >= own->room)
        violations.push_back(at + "\"" + *included + "\" goes to a room of floor " + std::to_string(own->floor) +
                             " that is not below its own");
    } else if (target->floor == own->floor && target != own && own->floor != kTop) {
      violations.push_back(at + "\"" + *included + "\" goes to a sibling folder of floor " +
                           std::to_string(own->floor));
    }
  }
  return violations;
}

FloorReport check_tree(const std::filesystem::path& root) {
  FloorReport report;
  for (const FloorFolder& entry : floor_table()) {
    if (!std::filesystem::exists(root / entry.folder)) continue;
    for (const auto& item : std::filesystem::recursive_directory_iterator(root / entry.folder)) {
      if (!item.is_regular_file() || !is_source(item.path())) continue;
      if (folder_of(std::filesystem::relative(item.path(), root).generic_string()) != &entry) continue;  // in a room
      std::ifstream in(item.path(), std::ios::binary);
      std::string text(std::istreambuf_iterator<char>(in), {});
      ++report.files;
      for (size_t at = text.find("#include \""); at != std::string::npos; at = text.find("#include \"", at + 1))
        ++report.includes;
      std::vector<std::string> found =
          check_includes(std::filesystem::relative(item.path(), root).generic_string(), text);
      report.violations.insert(report.violations.end(), found.begin(), found.end());
    }
  }
  return report;
}

}  // namespace tandem::house
