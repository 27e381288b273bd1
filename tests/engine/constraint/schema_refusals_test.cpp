#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "sync/error.h"
#include "sync/long_wait.h"
#include "tandem/constraint.h"
#include "tests/engine/constraint/toy_tokenizer.h"

namespace tandem {
namespace {

class SchemaRefusals : public ::testing::Test {
 protected:
  std::string refusal(const std::string& schema) {
    try {
      maker_.json_schema(schema, "s.json");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  void expect(const std::string& schema, const std::vector<std::string>& words) {
    const std::string why = refusal(schema);
    for (const std::string& word : words) EXPECT_NE(why.find(word), std::string::npos) << schema << ": " << why;
  }
  testing::ToyTokenizer tokenizer_;
  ConstraintMaker maker_{tokenizer_};
};

TEST_F(SchemaRefusals, name_the_keyword_and_its_place) {
  for (const char* keyword : {"not",
                              "if",
                              "then",
                              "else",
                              "multipleOf",
                              "patternProperties",
                              "propertyNames",
                              "dependentRequired",
                              "dependentSchemas",
                              "dependencies",
                              "contains",
                              "minContains",
                              "maxContains",
                              "unevaluatedProperties",
                              "unevaluatedItems",
                              "$dynamicRef",
                              "$dynamicAnchor",
                              "$recursiveRef",
                              "$vocabulary",
                              "additionalItems",
                              "discriminator",
                              "nullable",
                              "id",
                              "tpye"})
    expect(std::string(R"({"type": "object", "properties": {"a/b": {")") + keyword + R"(": {}}}})",
           {"keyword \"" + std::string(keyword) + "\"", "#/properties/a~1b/" + std::string(keyword)});
  expect(R"({"uniqueItems": true})", {"uniqueItems"});
  expect(R"({"items": {"$id": "x"}})", {"\"$id\"", "#/items/$id"});
  EXPECT_EQ(
      refusal(R"({"uniqueItems": false, "title": "t", "description": "d", "default": 1, "examples": [], "$comment": "",
    "$schema": "x", "$id": "y", "$anchor": "z", "contentMediaType": "text/html", "contentEncoding": "base64", "deprecated": true, "readOnly": true, "writeOnly": true, "$defs": {"unused": {"not": {}}}})"),
      "");
}

TEST_F(SchemaRefusals, are_for_values_that_a_keyword_cannot_have) {
  expect(R"({"type": "text"})", {"unknown type", "#/type"});
  expect(R"({"type": []})", {"unknown type"});
  expect(R"({"minLength": -1})", {"whole number", "#/minLength"});
  expect(R"({"maxItems": 1.5})", {"whole number"});
  expect(R"({"minimum": "1"})", {"a number is expected"});
  expect(R"({"exclusiveMinimum": true, "minimum": 1})", {"a number is expected", "#/exclusiveMinimum"});
  expect(R"({"enum": 1})", {"list of values"});
  expect(R"({"required": "a"})", {"list of names"});
  expect(R"({"properties": []})", {"object of schemas"});
  expect(R"({"properties": {"a": 1}})", {"a schema is an object", "#/properties/a"});
  expect(R"({"items": [{}]})", {"prefixItems"});
  expect(R"({"anyOf": []})", {"list of schemas"});
  expect(R"({"format": "ipv4"})", {"ipv4", "#/format"});
  expect(R"x({"pattern": "(?=a)"})x", {"look-ahead", "#/pattern"});
  expect("[]", {"a schema is an object"});
}

TEST_F(SchemaRefusals, are_for_references_that_lead_nowhere_or_away) {
  expect(R"({"$ref": "https://example.com/s.json"})", {"another document"});
  expect(R"({"$ref": "#item"})", {"anchor"});
  expect(R"({"$ref": "#/$defs/none"})", {"leads nowhere"});
  expect(R"({"$ref": "#/$defs/a", "$defs": {"a": 1}})", {"a schema is an object"});
  expect(R"({"$ref": "#"})", {"circle"});
  expect(R"({"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}}})",
         {"circle"});
  expect(R"({"anyOf": [{"$ref": "#"}, {"type": "null"}]})", {"calls itself"});
}

TEST_F(SchemaRefusals, are_for_schemas_that_nothing_satisfies) {
  for (const char* schema : {"false", R"({"type": "string", "minLength": 3, "maxLength": 2})",
                             R"({"type": "integer", "minimum": 1.2, "maximum": 1.8})",
                             R"({"allOf": [{"type": "string"}, {"type": "null"}]})",
                             R"({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]})",
                             R"({"enum": [1], "type": "string"})", R"({"enum": []})",
                             R"({"type": "array", "prefixItems": [false], "minItems": 1})",
                             R"({"type": "string", "pattern": "^a$", "minLength": 2})",
                             R"({"type": "object", "required": ["a"], "additionalProperties": false})",
                             R"({"type": "number", "exclusiveMinimum": 1, "maximum": 1})"})
    expect(schema, {"no text can satisfy", "s.json"});
}

TEST_F(SchemaRefusals, are_for_a_oneOf_whose_alternatives_may_both_hold) {
  expect(R"({"oneOf": [{"type": "integer"}, {"type": "number"}]})", {"alternatives 0 and 1", "#/oneOf"});
  expect(R"({"oneOf": [{"type": "string"}, {"type": "null"}, {"type": "string", "pattern": "a"}]})",
         {"alternatives 0 and 2"});
  for (const char* good :
       {R"({"oneOf": [{"type": "string", "maxLength": 2}, {"type": "string", "minLength": 3}]})",
        R"({"oneOf": [{"maximum": 1, "type": "integer"}, {"exclusiveMinimum": 1, "type": "number"}]})",
        R"({"oneOf": [{"type": "string", "pattern": "^a"}, {"type": "string", "pattern": "^[b-z]"}]})",
        R"({"oneOf": [{"type": "array", "prefixItems": [{"const": 1}], "minItems": 1},
                      {"type": "array", "items": {"type": "string"}}]})",
        R"({"oneOf": [{"enum": [1, 2, "a"]}, {"enum": [2.5, "b"]}, {"enum": [3, 4], "minimum": 1}]})",
        R"({"oneOf": [{"enum": ["a", 1]}, {"const": "b"}, {"type": "object"}]})",
        R"({"oneOf": [{"type": "array", "maxItems": 1}, {"type": "array", "minItems": 2}]})",
        R"({"oneOf": [{"type": "object", "required": ["a"], "properties": {"a": {"type": "null"}}},
                      {"type": "object", "properties": {"a": {"type": "boolean"}}}]})"})
    EXPECT_EQ(refusal(good), "");
}

TEST_F(SchemaRefusals, are_for_minProperties_that_cannot_be_counted) {
  expect(R"({"type": "object", "minProperties": 2, "required": ["a"]})", {"minProperties"});
  EXPECT_EQ(refusal(R"({"type": "object", "minProperties": 1, "required": ["a"]})"), "");
}

// Each of them took seconds or hours by work that grew with the square of its text.
TEST_F(SchemaRefusals, of_long_lists_come_at_once) {
  std::string names, alternatives, letters;
  for (int i = 0; i < 40'000; ++i) {
    names += (i ? ",\"n" : "\"n") + std::to_string(i) + "\"";
    alternatives += std::string(i ? "," : "") + R"({"properties": {"n)" + std::to_string(i) + R"(": {}}})";
    char letter[8];
    std::snprintf(letter, sizeof letter, "\\u%04x", static_cast<unsigned>(0x4000 + 2 * (i % 16'000)));
    if (i < 16'000) letters += letter;
  }
  EXPECT_NE(refusal(R"({"type": "object", "required": [)" + names + "]}"), "") << "more states than may be";
  expect(R"({"allOf": [)" + alternatives + "]}", {"too many combinations"});
  EXPECT_EQ(refusal(R"({"type": "string", "pattern": "^[)" + letters + R"(]$"})"), "");
  expect(R"({"type": "string", "pattern": "^[)" + letters + R"(]{9999}$"})", {"pattern is too large"});
}

// A string of many characters took seconds, and a server or a program that was to end waited for it.
TEST_F(SchemaRefusals, of_a_large_schema_are_ended_by_an_interrupt) {
  static int looks = 0;
  for (const char* schema : {R"({"type": "string", "minLength": 90000})", R"({"type": "string", "pattern": "a{9000}"})",
                             R"({"anyOf": [{"type": "null"}, {"type": "string"}]})"}) {
    looks = 0;
    stop_waits_when([] { return ++looks > 2; });
    EXPECT_THROW(maker_.json_schema(schema, "s.json"), Interrupted) << schema;
    stop_waits_when(nullptr);
    EXPECT_EQ(looks, 3) << schema;
  }
}

TEST_F(SchemaRefusals, are_for_text_that_is_no_schema) {
  expect("", {"no JSON"});
  expect("{\"type\": ", {"no JSON", "s.json"});
  expect(R"({"type": "null", "type": "string"})", {"the key \"type\" twice"});
  expect(R"({"type": "integer", "minimum": 18446744073709551617})", {"64 bits", "minimum"});
  expect(R"({"const": 12345678901234567890123})", {"64 bits", "const"});
  EXPECT_EQ(refusal(R"({"enum": [18446744073709551615, -9223372036854775808, 1e30]})"), "");
  expect(std::string(100'000, '['), {"nest deeper"});
  expect("\"" + std::string(5 << 20, 'x') + "\"", {"too large"});
  expect("{\"title\": \"\xff\"}", {"no JSON"});
  expect(std::string("{}\0not", 6), {"no JSON"});
}

TEST_F(SchemaRefusals, are_for_what_would_need_too_much) {
  expect(R"({"type": "string", "maxLength": 900000000})", {"too large"});
  expect(R"({"type": "array", "minItems": 900000000})", {"too large"});
  expect(R"({"type": "string", "maxLength": 900000, "pattern": "a"})", {"too long"});
  // Twelve groups of four alternatives beside each other: 4^12 combinations.
  std::string groups;
  for (int i = 0; i < 12; ++i) {
    groups += std::string(i ? "," : "") + R"({"anyOf": [)";
    for (int j = 0; j < 4; ++j)
      groups += std::string(j ? "," : "") + R"({"type": "object", "properties": {"p)" + std::to_string(i) +
                R"(": {"const": )" + std::to_string(j) + "}}}";
    groups += "]}";
  }
  expect(R"({"allOf": [)" + groups + "]}", {"too large", "fewer alternatives"});
}

}  // namespace
}  // namespace tandem
