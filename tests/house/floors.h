// The floor check: an include goes to its own floor's folder or to a lower floor (README: the floors).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::house {

struct FloorFolder {
  std::string_view folder;  // "engine/device"; the table has a folder's rooms before the folder
  int floor;
  int room = 0;  // rooms of a folder have an order: an include goes to its own room or a lower one; 0: no room
};

// The table of floors. tests/ and bench/ stand above all floors and may include each other.
const std::vector<FloorFolder>& floor_table();

// The faults of one file's quoted includes. `path` is relative to the root. Each entry reads "path:line: ...".
std::vector<std::string> check_includes(std::string_view path, std::string_view text);

struct FloorReport {
  int files = 0, includes = 0;
  std::vector<std::string> violations;
};
FloorReport check_tree(const std::filesystem::path& root);

}  // namespace tandem::house
