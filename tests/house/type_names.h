// The one-definition check: in one namespace a type name stands for one type only. Compilers and linkers do not notice
// two types, and merge the code of both (the sizes of one with the members of the other).
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace tandem::house {

// The types that a text defines at namespace scope, with their namespaces ("tandem::sync::Pool"). Types in anonymous
// namespaces and members of other types do not count.
std::set<std::string> defined_types(std::string_view text);

struct TypeReport {
  int types = 0;
  std::map<std::string, std::set<std::string>> repeated;  // name -> files, for names with several
};
// Checks all C++ files of the floors. bench/ and tests/ are programs of their own and are left out.
TypeReport check_type_names(const std::filesystem::path& root);

}  // namespace tandem::house
