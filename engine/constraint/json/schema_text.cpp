#include "engine/constraint/json/schema_text.h"

#include <charconv>

#include "sync/error.h"
#include "sync/json_text.h"

namespace tandem::constraint {
namespace {

// One part of a pointer as a key: %41 and ~1 are written out. A pointer in a URI's fragment is escaped twice: bytes as
// %41, and / and ~ within a key as ~1 and ~0.
std::string key_of(std::string_view part, const std::string& at) {
  std::string key;
  for (size_t i = 0; i < part.size(); ++i) {
    if (part[i] == '%') {
      unsigned value = 0;
      const char* const first = part.data() + i + 1;
      if (i + 2 >= part.size() || std::from_chars(first, first + 2, value, 16).ptr != first + 2)
        refuse_schema("a % in a $ref has two hexadecimal digits", at);
      key += static_cast<char>(value);
      i += 2;
    } else {
      key += part[i];
    }
  }
  std::string plain;
  for (size_t i = 0; i < key.size(); ++i) {
    const bool is_escape = key[i] == '~' && i + 1 < key.size() && (key[i + 1] == '0' || key[i + 1] == '1');
    plain += is_escape ? (key[++i] == '0' ? '~' : '/') : key[i];
  }
  return plain;
}

}  // namespace

void refuse_schema(const std::string& what, const std::string& at, const std::string& hint) {
  throw Error("this JSON schema cannot be used: " + what, at,
              hint.empty() ? "docs/constrained.md lists what a schema may have" : hint);
}

// The flaws are found by one scan of the text before it is parsed. The parser would nest as deep as the text.
Json parse_schema(std::string_view text, const std::string& on) {
  if (text.size() > kMostSchemaBytes)
    refuse_schema("it is too large", on, "It may have " + std::to_string(kMostSchemaBytes) + " bytes");
  const JsonFlaw flaw = json_flaw(text, kDeepestSchema);
  switch (flaw.kind) {
    case JsonFlaw::Kind::syntax:
      refuse_schema("it is no JSON", on, flaw.detail);
    case JsonFlaw::Kind::depth:
      refuse_schema("its brackets nest deeper than " + std::to_string(kDeepestSchema), on);
    case JsonFlaw::Kind::twice:
      refuse_schema("an object has the key \"" + flaw.detail + "\" twice", on);
    case JsonFlaw::Kind::members:
      refuse_schema("an object has more than " + std::to_string(kMostJsonMembers) + " keys", on);
    case JsonFlaw::Kind::digits:
      refuse_schema("a whole number has more than 64 bits", flaw.detail.empty() ? on : flaw.detail,
                    "Write it with an exponent if it may be rounded");
    case JsonFlaw::Kind::none:
      break;
  }
  return Json::parse(text);
}

std::string pointer_part(const std::string& key) {
  std::string part;
  for (const char c : key) part += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return part;
}

// Follows a JSON pointer within the schema, part by part: a key of an object or an index of an array. Other documents
// and anchors are refused, because nothing is fetched.
const Json& resolve(const Json& root, const std::string& reference, const std::string& at) {
  if (reference.empty() || reference[0] != '#')
    refuse_schema("$ref names another document, \"" + reference + "\"", at, "Copy it into $defs; nothing is fetched");
  std::string_view rest = std::string_view(reference).substr(1);
  if (!rest.empty() && rest[0] != '/') refuse_schema("$ref names an anchor, \"" + reference + "\"", at);
  const Json* node = &root;
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const size_t end = std::min(rest.find('/'), rest.size());
    const std::string key = key_of(rest.substr(0, end), at);
    rest.remove_prefix(end);
    const Json* next = nullptr;
    if (node->is_object()) {
      if (const auto found = node->find(key); found != node->end()) next = &*found;
    } else if (node->is_array()) {
      size_t index = 0;
      const auto read = std::from_chars(key.data(), key.data() + key.size(), index);
      if (read.ec == std::errc() && read.ptr == key.data() + key.size() && index < node->size()) next = &(*node)[index];
    }
    if (!next) refuse_schema("$ref leads nowhere, \"" + reference + "\"", at);
    node = next;
  }
  return *node;
}

}  // namespace tandem::constraint
