// The text of a JSON schema: how it is parsed, and where its local references lead.
//
// Contract: pure. Error: it is no JSON, is too large, nests too deep, or has a key twice.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace tandem::constraint {

using Json = nlohmann::ordered_json;  // objects keep the order of their keys

inline constexpr size_t kMostSchemaBytes = size_t{4} << 20;
inline constexpr int kDeepestSchema = 256;  // brackets

Json parse_schema(std::string_view text, const std::string& on);
// Follows a reference such as "#/$defs/item". at: the place of the reference, for errors.
const Json& resolve(const Json& root, const std::string& reference, const std::string& at);
std::string pointer_part(const std::string& key);  // "/" and "~" as a JSON pointer has them

[[noreturn]] void refuse_schema(const std::string& what, const std::string& at, const std::string& hint = "");

}  // namespace tandem::constraint
