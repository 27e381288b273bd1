// Functions that a request offers.
#include "engine/serve/openai/tools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "engine/constraint/constraint.h"
#include "tests/engine/constraint/toy_tokenizer.h"
#include "tests/engine/serve/openai/refused.h"

namespace tandem::serve {
namespace {

using ::testing::HasSubstr;

const std::string kTwo =
    R"("tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object","properties":{"a":{"type":"integer"}}}}},
  {"type":"function","function":{"name":"g"}}])";

Tools tools_in(const std::string& members) { return read_tools(OrderedJson::parse("{" + members + "}")); }
Refusal refused_in(const std::string& members) {
  return refused_by([&] { schema_of_call(tools_in(members)); });
}

TEST(Tools, are_offered_and_called_at_will_unless_the_request_says_otherwise) {
  const Tools tools = tools_in(kTwo);
  EXPECT_EQ(tools.choice, Tools::Choice::automatic);
  EXPECT_EQ(tools.names(), (FunctionNames{"f", "g"}));
  EXPECT_EQ(tools.offered.size(), 2u);
  EXPECT_TRUE(tools.parallel_calls);
  EXPECT_FALSE(schema_of_call(tools));
  EXPECT_FALSE(tools_in(kTwo + R"(,"parallel_tool_calls":false)").parallel_calls);
}

TEST(Tools, that_may_not_be_called_are_not_offered) {
  const Tools tools = tools_in(kTwo + R"(,"tool_choice":"none")");
  EXPECT_EQ(tools.choice, Tools::Choice::none);
  EXPECT_TRUE(tools.offered.is_null());
  for (const char* members : {"", R"("tools":null)", R"("tools":[])", R"("tools":[],"tool_choice":"auto")"}) {
    EXPECT_EQ(tools_in(members).choice, Tools::Choice::none) << members;
    EXPECT_TRUE(tools_in(members).offered.is_null()) << members;
  }
}

TEST(Tools, that_are_named_have_a_schema_of_their_call) {
  const Tools tools = tools_in(kTwo + R"(,"tool_choice":{"type":"function","function":{"name":"g"}})");
  EXPECT_EQ(tools.named, "g");
  EXPECT_EQ(schema_of_call(tools),
            R"({"type":"object","properties":{"name":{"const":"g"},"arguments":{"type":"object","properties":{},)"
            R"("additionalProperties":false}},"required":["name","arguments"],"additionalProperties":false})");
}

TEST(Tools, one_of_which_is_required_have_a_schema_of_all) {
  const auto schema = OrderedJson::parse(*schema_of_call(tools_in(kTwo + R"(,"tool_choice":"required")")));
  ASSERT_EQ(schema["anyOf"].size(), 2u);
  EXPECT_EQ(schema["anyOf"][0]["properties"]["name"]["const"], "f");
  EXPECT_EQ(schema["anyOf"][0]["properties"]["arguments"]["properties"]["a"]["type"], "integer");
}

// Whether the text keeps the form that a required call has.
bool keeps_form(const Tools& tools, const std::string& text) {
  const testing::ToyTokenizer tokenizer;
  const auto constraint = ConstraintMaker(tokenizer).json_schema(*schema_of_call(tools));
  const auto matcher = constraint->state().new_matcher();
  for (const int32_t id : tokenizer.encode(text, {}))
    if (!matcher->accept(id)) return false;
  return matcher->may_end();
}

TEST(Tools, that_are_required_make_a_text_their_call_and_nothing_else) {
  const Tools any = tools_in(kTwo + R"(,"tool_choice":"required")");
  EXPECT_TRUE(keeps_form(any, R"({"name":"f","arguments":{"a":5}})"));
  EXPECT_TRUE(keeps_form(any, R"({"name":"g","arguments":{}})"));
  EXPECT_FALSE(keeps_form(any, R"({"name":"f","arguments":{"a":"five"}})"));
  EXPECT_FALSE(keeps_form(any, R"({"name":"g","arguments":{"a":5}})"));
  EXPECT_FALSE(keeps_form(any, R"({"name":"h","arguments":{}})"));
  EXPECT_FALSE(keeps_form(any, R"({"name":"f"})"));
  EXPECT_FALSE(keeps_form(any, "Fine"));
  const Tools one = tools_in(kTwo + R"(,"tool_choice":{"type":"function","function":{"name":"g"}})");
  EXPECT_TRUE(keeps_form(one, R"({"name":"g","arguments":{}})"));
  EXPECT_FALSE(keeps_form(one, R"({"name":"f","arguments":{"a":5}})"));
}

TEST(Tools, that_are_required_have_an_object_as_arguments_whatever_their_schema_says) {
  const auto required = [](const std::string& parameters) {
    return R"("tool_choice":"required","tools":[{"type":"function","function":{"name":"f","parameters":)" + parameters +
           "}}]";
  };
  for (const char* open : {"{}", R"({"properties":{"a":{"type":"integer"}}})", R"({"type":["null","object"]})",
                           R"({"anyOf":[{"type":"string"},{"type":"object"}]})"}) {
    const Tools tools = tools_in(required(open));
    EXPECT_TRUE(keeps_form(tools, R"({"name":"f","arguments":{"a":5}})")) << open;
    for (const char* other : {"5", "null", "\"x\"", "[]"})
      EXPECT_FALSE(keeps_form(tools, R"({"name":"f","arguments":)" + std::string(other) + "}")) << open << other;
  }
  for (const char* none : {R"({"type":"string"})", R"({"type":["string","null"]})", R"({"type":5})"})
    EXPECT_EQ(refused_in(required(none)).param, "tools") << none;
}

TEST(Tools, of_another_form_are_refused_by_their_place) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("tools":{})", "tools"},
      {R"("tools":[7])", "tools[0]"},
      {R"("tools":[{"type":"web_search"}])", "tools[0].type"},
      {R"("tools":[{"type":"function"}])", "tools[0].function"},
      {R"("tools":[{"type":"function","function":{}}])", "tools[0].function.name"},
      {R"("tools":[{"type":"function","function":{"name":"a b"}}])", "tools[0].function.name"},
      {R"("tools":[{"type":"function","function":{"name":"a","parameters":7}}])", "tools[0].function.parameters"},
      {R"("tools":[{"type":"function","function":{"name":"a","description":7}}])", "tools[0].function.description"},
      {R"("tools":[{"type":"function","function":{"name":"a","strict":7}}])", "tools[0].function.strict"},
      {R"("tools":[{"type":"function","function":{"name":"a","extra":7}}])", "tools[0].function.extra"},
      {R"("tools":[{"type":"function","function":{"name":"a"}},{"type":"function","function":{"name":"a"}}])",
       "tools[1]"},
      {R"("tool_choice":"required")", "tool_choice"},
      {R"("parallel_tool_calls":1)", "parallel_tool_calls"},
  };
  for (const auto& [members, param] : cases) EXPECT_EQ(refused_in(members).param, param) << members;
  std::string many = R"("tools":[)";
  for (size_t i = 0; i <= kMostTools; ++i)
    many += (i ? "," : "") + (R"({"type":"function","function":{"name":"f)" + std::to_string(i) + R"("}})");
  EXPECT_EQ(refused_in(many + "]").param, "tools");
}

TEST(Tools, have_choices_of_few_forms) {
  for (const char* choice :
       {R"("any")", "7", "{}", R"({"type":"function"})", R"({"function":{"name":"f"}})",
        R"({"type":"function","function":{"name":"h"}})", R"({"type":"allowed_tools","function":{"name":"f"}})"})
    EXPECT_EQ(refused_in(kTwo + R"(,"tool_choice":)" + choice).param, "tool_choice") << choice;
}

TEST(Tools, are_strict_only_where_that_is_enforced) {
  const std::string strict = R"("tools":[{"type":"function","function":{"name":"f","strict":true}}])";
  EXPECT_THAT(refused_in(strict).message, HasSubstr("\"strict\""));
  EXPECT_NO_THROW(tools_in(strict + R"(,"tool_choice":"required")"));
  EXPECT_NO_THROW(tools_in(strict + R"(,"tool_choice":"none")"));
}

// The first function is as pydantic writes nested models. The others have a tree, and members named like keywords.
TEST(Tools, whose_parameters_refer_to_their_parts_can_be_required) {
  const std::string three =
      R"("tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","$defs":{"City":{"type":"object",
         "properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}},
         "properties":{"to":{"$ref":"#/$defs/City"}},"required":["to"],"additionalProperties":false}}},
       {"type":"function","function":{"name":"g","parameters":{"properties":{"a":{"$ref":"#"},"b":{"type":"null"}},
         "additionalProperties":false}}},
       {"type":"function","function":{"name":"h","parameters":{"type":"object","additionalProperties":false,
         "properties":{"const":{"$ref":"#/properties/default"},"default":{"const":{"$ref":"#"}}}}}}],"tool_choice":)";
  const std::string all = three + R"("required")";
  const auto named = [&](const std::string& name) {
    return three + R"({"type":"function","function":{"name":")" + name + R"("}})";
  };
  const std::tuple<const char*, const char*, bool> cases[] = {
      {"f", R"({"to":{"name":"Rome"}})", true},
      {"f", R"({"to":{"name":5}})", false},
      {"f", R"({"to":{}})", false},
      {"g", R"({"a":{"a":{"b":null}}})", true},
      {"g", R"({"a":{"a":{"b":5}}})", false},
      {"g", R"({"a":{"c":5}})", false},
      {"h", R"({"const":{"$ref":"#"}})", true},
      {"h", R"({"const":{"$ref":"#/x"}})", false},
      {"h", R"({"default":{"$ref":"#"}})", true},
  };
  for (const auto& [name, arguments, is_right] : cases)
    for (const std::string& members : {all, named(name)}) {
      const std::string call = "{\"name\":\"" + std::string(name) + "\",\"arguments\":" + arguments + "}";
      EXPECT_EQ(keeps_form(tools_in(members), call), is_right) << call << members.substr(members.size() - 40);
    }
}

}  // namespace
}  // namespace tandem::serve
