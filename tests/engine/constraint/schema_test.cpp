#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "engine/constraint/json/schema_parts.h"
#include "tests/engine/constraint/toy_tokenizer.h"
#include "tests/engine/constraint/walks.h"

namespace tandem {
namespace {

class Schema : public ::testing::Test {
 protected:
  bool takes(const std::string& schema, const std::string& text) {
    return testing::takes(*maker_.json_schema(schema), tokenizer_, text);
  }
  void expect(const std::string& schema, const std::vector<std::string>& good, const std::vector<std::string>& bad) {
    const auto form = maker_.json_schema(schema);
    std::mt19937 random(1);
    for (const std::string& text : good)
      EXPECT_EQ(testing::first_refused(*form, tokenizer_, text, random), -1) << schema << " and " << text;
    for (const std::string& text : bad)
      EXPECT_NE(testing::first_refused(*form, tokenizer_, text, random), -1) << schema << " and " << text;
  }
  testing::ToyTokenizer tokenizer_;
  ConstraintMaker maker_{tokenizer_};
};

TEST_F(Schema, has_types_and_lists_of_types) {
  expect(R"({"type": "null"})", {"null"}, {"nul", "true", "", "null "});
  expect(R"({"type": ["boolean", "string"]})", {"true", "false", "\"x\""}, {"null", "1"});
  expect(R"({"type": "integer"})", {"0", "-12", "123456789012345678901"}, {"1.0", "01", "1e3"});
  expect(R"({"type": "number"})", {"0", "-1.5", "1e-07"}, {"\"1\"", ".5"});
  expect("true", {"null", "[1,{\"a\":\"b\"}]", "{}"}, {"[1,]", "{a:1}"});
  expect("{}", {"[]", "{\"a\": [], \"b\": {}}"}, {"'a'"});
}

TEST_F(Schema, counts_characters_of_strings) {
  const std::string schema = R"({"type": "string", "minLength": 2, "maxLength": 3})";
  expect(schema, {"\"ab\"", "\"é你\"", "\"\\n\\\"\\\\\"", "\"\\u00e9x\"", "\"\\ud83d\\ude00x\"", "\"😀😀😀\""},
         {"\"a\"", "\"abcd\"", "\"\\ud83d\\ude00\"", "\"\"", "\"a\nb\""});
}

TEST_F(Schema, writes_no_half_of_a_surrogate_pair) {
  expect(R"({"type": "string"})", {"\"\\uD83D\\uDE00\"", "\"\\u0041\"", "\"\\uFFFF\""},
         {"\"\\ud83d\"", "\"\\ude00\"", "\"\\ud83d\\u0041\"", "\"\\ud83dx\"", "\"\\x41\"", "\"\\u12\"", "\"\t\""});
}

TEST_F(Schema, has_patterns_and_formats) {
  expect(R"({"type": "string", "pattern": "^[a-c]{2}-\\d+$"})", {"\"ab-1\""}, {"\"abc-1\"", "\"ab-\"", "\"xab-1\""});
  expect(R"({"type": "string", "pattern": "b\\n"})", {"\"ab\\nc\""}, {"\"ab\"", "\"ab\\tc\""});
  expect(R"({"type": "string", "pattern": "^.é$"})", {"\"xé\"", "\"x\\u00e9\"", "\"\\\"\\u00E9\""},
         {"\"é\"", "\"xy\""});
  expect(R"({"type": "string", "pattern": "^a*$", "maxLength": 2})", {"\"aa\"", "\"\""}, {"\"aaa\"", "\"ab\""});
  expect(R"({"type": "string", "format": "date"})", {"\"2024-02-29\"", "\"1999-12-31\"", "\"2000-02-29\""},
         {"\"2023-02-29\"", "\"1900-02-29\"", "\"2024-13-01\"", "\"2024-04-31\"", "\"0000-01-01\"", "\"2024-1-1\""});
  expect(R"({"type": "string", "format": "date-time"})",
         {"\"2024-02-29T23:59:59.5Z\"", "\"2024-01-01T00:00:00+01:30\""},
         {"\"2024-01-01 00:00:00Z\"", "\"2024-01-01T24:00:00Z\"", "\"2024-01-01T00:00:00\""});
  expect(R"({"type": "string", "format": "uuid"})", {"\"123e4567-e89b-12d3-a456-42661417400F\""},
         {"\"123e4567e89b12d3a456426614174000\""});
  expect(R"({"type": "string", "format": "email"})", {"\"a.b@c.de\""}, {"\"a@b@c\"", "\"@c.de\"", "\".a@c\""});
}

TEST_F(Schema, has_constants_of_any_kind_in_their_usual_spelling) {
  expect(R"({"enum": ["a\"b", 1.5, null, [1, {"x": true}], "é"]})",
         {"\"a\\\"b\"", "1.5", "null", "[1,{\"x\":true}]", "[1, {\"x\": true}]", "\"é\"", "\"\\u00e9\""},
         {"\"a\"", "1", "[1]", "{}"});
  expect(R"({"const": -0.25})", {"-0.25"}, {"0.25"});
  expect(R"({"enum": [1, "abc", 12, "a"], "type": "string", "minLength": 2})", {"\"abc\""}, {"1", "12", "\"a\""});
}

TEST_F(Schema, has_members_in_order_with_optional_ones) {
  const std::string schema =
      R"({"type": "object", "properties": {"b": {"type": "integer"}, "a": {"type": "null"}, "c": true},
    "required": ["a"], "additionalProperties": false})";
  expect(schema, {R"({"a":null})", R"({"b": 1, "a": null, "c": [2]})", R"({ "a":null })"},
         {R"({"b":1})", R"({"a":null,"b":1})", R"({"a":null,"a":null})", R"({"a":null,"x":1})", R"({})",
          R"({"a":null,})"});
}

TEST_F(Schema, allows_other_members_behind_its_own_unless_it_says_no) {
  const std::string open = R"({"properties": {"ab": {"type": "integer"}}, "type": "object"})";
  expect(open, {R"({"ab":1,"x":"y"})", R"({"a":"s"})", R"({"abc":"s"})", R"({"":0})", R"({})"},
         {R"({"ab":"s"})", R"({"x":1,"ab":"s"})", R"({"\u0061b":"s"})", R"({"x":1,"a\u0062":"s"})"});
  const std::string typed = R"({"type": "object", "additionalProperties": {"type": "boolean"}})";
  expect(typed, {R"({"x":true,"y":false})", "{}"}, {R"({"x":1})"});
  expect(R"({"type": "object", "required": ["x"]})", {R"({"x":1})", R"({"x":1,"y":2})"}, {"{}", R"({"y":2})"});
}

TEST_F(Schema, counts_members) {
  const std::string closed =
      R"({"type": "object", "properties": {"a": true, "b": true, "c": true}, "additionalProperties": false,
    "minProperties": 1, "maxProperties": 2})";
  expect(closed, {R"({"a":1})", R"({"a":1,"c":1})", R"({"b":1,"c":1})"}, {"{}", R"({"a":1,"b":1,"c":1})"});
  expect(R"({"type": "object", "maxProperties": 1})", {"{}", R"({"x":1})"}, {R"({"x":1,"y":1})"});
}

TEST_F(Schema, has_items_and_counts_them) {
  expect(R"({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3})",
         {"[1]", "[1, 2,3]", "[ 1 ]"}, {"[]", "[1,2,3,4]", "[\"a\"]", "[1,]"});
  expect(R"({"type": "array", "prefixItems": [{"type": "null"}, {"type": "boolean"}], "items": {"type": "integer"}})",
         {"[]", "[null]", "[null,true,1,2,3]"}, {"[true]", "[null,true,null]"});
  expect(R"({"type": "array", "prefixItems": [{"type": "null"}], "items": false, "minItems": 1})", {"[null]"},
         {"[]", "[null,null]"});
  expect(R"({"type": "array", "minItems": 2})", {"[1,{}]", "[1,2,3]"}, {"[1]"});
  expect(R"({"type": "array", "maxItems": 0})", {"[]", "[ ]"}, {"[1]"});
}

TEST_F(Schema, has_alternatives) {
  expect(R"({"anyOf": [{"type": "string"}, {"type": "integer"}]})", {"\"a\"", "1"}, {"null"});
  expect(R"({"anyOf": [{"minimum": 5}, {"maximum": 0}], "type": "integer"})", {"5", "0", "-3"}, {"3", "\"a\""});
  expect(
      R"({"oneOf": [{"properties": {"k": {"const": 1}, "v": {"type": "string"}}, "required": ["k"], "type": "object"},
                       {"properties": {"k": {"const": 2}, "v": {"type": "null"}}, "required": ["k"], "type": "object"}]})",
      {R"({"k":1,"v":"s"})", R"({"k":2,"v":null})"}, {R"({"k":1,"v":null})", R"({"k":3})"});
}

TEST_F(Schema, merges_what_holds_together) {
  expect(R"({"allOf": [{"type": "integer", "minimum": 2}, {"maximum": 4}, {"type": "number"}], "exclusiveMinimum": 2})",
         {"3", "4"}, {"2", "5", "3.5"});
  expect(R"({"allOf": [{"properties": {"a": {"type": "integer"}}, "type": "object"},
                       {"properties": {"a": {"minimum": 3}, "b": true}, "additionalProperties": false, "required": ["b"]}]})",
         {R"({"a":3,"b":0})", R"({"b":0})"}, {R"({"a":2,"b":0})", R"({"a":3})", R"({"b":0,"c":1})"});
  expect(R"({"allOf": [{"pattern": "^a"}, {"pattern": "b$"}], "type": "string", "minLength": 3})", {"\"axb\""},
         {"\"ab\"", "\"axc\""});
}

TEST_F(Schema, follows_references_also_to_itself) {
  const std::string tree = R"({"$ref": "#/$defs/a~1b%20c", "$defs": {"a/b c": {"type": "object", "properties":
    {"v": {"type": "integer"}, "next": {"$ref": "#/$defs/a~1b%20c"}}, "required": ["v"], "additionalProperties": false}}})";
  expect(tree, {R"({"v":1})", R"({"v":1,"next":{"v":2,"next":{"v":3}}})"},
         {R"({"next":{"v":1}})", R"({"v":1,"next":{}})"});
  expect(R"({"anyOf": [{"type": "null"}, {"type": "array", "items": {"$ref": "#"}}]})", {"null", "[[null],[]]"},
         {"[1]"});
}

TEST_F(Schema, allows_at_most_one_blank_where_json_has_white_space) {
  expect(R"({"type": "object", "properties": {"a": {"type": "array"}}})",
         {R"({ "a": [ 1, 2 ], "b": { } })", R"({"a":[1,2],"b":{}})"},
         {R"({"a" :1})", R"({  "a":[]})", "{\n\"a\":[]}", R"( {"a":[]})", R"({"a":[] ,"b":1})"});
}

// Random texts satisfy the schema, by the validator that checks given values.
TEST_F(Schema, is_satisfied_by_what_is_written_at_random) {
  const char* schemas[] = {
      R"({"type": "object", "properties": {"a": {"type": "string", "maxLength": 4}, "b": {"type": "number", "exclusiveMinimum": 0, "maximum": 12.5}},
          "required": ["b"], "additionalProperties": {"type": "integer", "minimum": -3}})",
      R"({"type": "array", "items": {"anyOf": [{"type": "null"}, {"type": "string", "pattern": "^[a-c]+$", "maxLength": 3}]}, "minItems": 2, "maxItems": 5})",
      R"({"type": "object", "properties": {"id": {"type": "string", "format": "uuid"}, "day": {"type": "string", "format": "date"}},
          "minProperties": 1, "additionalProperties": false})",
      R"({"type": "string", "minLength": 1, "maxLength": 6})",
      R"({"type": "number", "minimum": -1.25, "exclusiveMaximum": 0.3})"};
  std::mt19937 random(9);
  for (const char* text : schemas) {
    const auto form = maker_.json_schema(text);
    const constraint::Json schema = constraint::parse_schema(text, "a test");
    int finished = 0;
    for (int i = 0; i < 60; ++i) {
      const auto written = testing::written(*form, tokenizer_, random, 300);
      if (!written) continue;
      ++finished;
      const auto value = constraint::Json::parse(*written);  // throws if it is no JSON
      constraint::SchemaParts parts(schema);
      EXPECT_TRUE(parts.accepts({{&schema, constraint::Part::Mode::whole, "#"}}, value)) << text << "\n" << *written;
    }
    EXPECT_GT(finished, 20) << text;
  }
}

}  // namespace
}  // namespace tandem
