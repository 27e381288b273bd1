// The one-definition check: no type name stands for two things in one namespace. Compilers and linkers do not notice,
// they merge the code of both (the sizes of one with the members of the other).
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace tandem::house {

// Types that a text defines at namespace scope, with their namespaces ("tandem::sync::Pool"); not those of anonymous
// namespaces and not members of other types.
std::set<std::string> defined_types(std::string_view text);

struct TypeReport {
  int types = 0;
  std::map<std::string, std::set<std::string>> repeated;  // name -> files, where there are several
};
// All C++ files of the floors. bench/ and tests/ are programs of their own and are not looked at.
TypeReport check_type_names(const std::filesystem::path& root);

}  // namespace tandem::house
