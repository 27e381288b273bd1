// Reads the functions that a request offers, and decides whether the answer may or must be a call.
#include "engine/serve/openai/tools.h"

#include <algorithm>
#include <string>
#include <vector>

#include "engine/serve/openai/members.h"
#include "sync/json_text.h"

namespace tandem::serve {
namespace {

constexpr size_t kLongestName = 64;

// These are the characters and the length that OpenAI's API allows, so names work with any template.
bool is_name(const OrderedJson& value) {
  if (!value.is_string()) return false;
  const auto& name = value.get_ref<const std::string&>();
  return !name.empty() && name.size() <= kLongestName && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

// OpenAI: a function without parameters takes none.
OrderedJson no_parameters() {
  return {{"type", "object"}, {"properties", OrderedJson::object()}, {"additionalProperties", false}};
}

// One function of the list: its name, and the schema of its arguments. A description is for the model, which gets it
// with the whole list. The flag `is_strict` becomes true if any function of the request wants its schema enforced.
Tools::Function read_function(const OrderedJson& tool, const std::string& place, bool& is_strict) {
  if (!tool.is_object()) refuse(place, "an object");
  require_members(tool, place, {"type", "function"});
  if (!member(tool, "type") || *member(tool, "type") != "function") refuse(place + ".type", "\"function\"");
  const OrderedJson* function = member(tool, "function");
  if (!function || !function->is_object()) refuse(place + ".function", "an object");
  require_members(*function, place + ".function", {"name", "description", "parameters", "strict"});
  const OrderedJson* name = member(*function, "name");
  if (!name || !is_name(*name)) refuse(place + ".function.name", "1 to 64 letters, digits, dashes and underscores");
  if (const OrderedJson* text = member(*function, "description"); text && !text->is_string())
    refuse(place + ".function.description", "a text");
  const OrderedJson* strict = member(*function, "strict");
  if (strict && !strict->is_boolean()) refuse(place + ".function.strict", "true or false");
  is_strict = is_strict || (strict && strict->get<bool>());
  const OrderedJson* parameters = member(*function, "parameters");
  if (parameters && !parameters->is_object()) refuse(place + ".function.parameters", "a JSON schema, an object");
  return {name->get<std::string>(), parameters ? *parameters : no_parameters()};
}

// A choice is one of three words, or names one function. A named function is required, and must be in the list.
void read_choice(const OrderedJson& choice, Tools& tools) {
  const std::string expected = R"("none", "auto", "required", or {"type":"function","function":{"name":...}})";
  if (choice.is_string()) {
    if (choice == "none") return void(tools.choice = Tools::Choice::none);
    if (choice == "auto") return void(tools.choice = Tools::Choice::automatic);
    if (choice != "required") refuse("tool_choice", expected);
    tools.choice = Tools::Choice::required;
    return;
  }
  const OrderedJson* function = choice.is_object() ? member(choice, "function") : nullptr;
  const OrderedJson* name = function && function->is_object() ? member(*function, "name") : nullptr;
  if (!name || !name->is_string() || choice.value("type", OrderedJson()) != "function") refuse("tool_choice", expected);
  require_members(choice, "tool_choice", {"type", "function"});
  require_members(*function, "tool_choice.function", {"name"});
  tools.choice = Tools::Choice::required;
  tools.named = name->get<std::string>();
  if (!tools.names().contains(tools.named))
    throw Refusal("\"tool_choice\" names the function \"" + tools.named + "\", which \"tools\" does not have.",
                  "tool_choice");
}

// Two functions of one name would make a call ambiguous, so the second one is refused.
void read_list(const OrderedJson& list, Tools& tools, bool& is_strict) {
  if (!list.is_array() || list.size() > kMostTools)
    refuse("tools", "a list of at most " + std::to_string(kMostTools) + " functions");
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string place = "tools[" + std::to_string(i) + "]";
    Tools::Function function = read_function(list[i], place, is_strict);
    if (tools.names().contains(function.name))
      throw Refusal("\"" + place + "\" has the name of an earlier function, \"" + function.name + "\".", place);
    tools.functions.push_back(std::move(function));
  }
}

// A $ref counts from the root of its schema, and here the parameters are a part of another one. So references within
// them begin with the part's place. Values of constants and names of members are no schemas, and stay.
OrderedJson moved(const OrderedJson& schema, const std::string& place) {
  if (!schema.is_structured()) return schema;
  OrderedJson result = schema;
  for (auto& [key, value] : result.items()) {
    const bool is_keyword = schema.is_object();
    if (is_keyword && key == "$ref" && value.is_string()) {
      const auto to = value.get<std::string>();
      if (to == "#" || to.starts_with("#/")) value = "#" + place + to.substr(1);
    } else if (is_keyword && (key == "properties" || key == "$defs" || key == "definitions") && value.is_object()) {
      for (auto& [name, of_name] : value.items()) of_name = moved(of_name, place);
    } else if (!is_keyword || (key != "const" && key != "enum" && key != "default" && key != "examples")) {
      value = moved(value, place);
    }
  }
  return result;
}

// Arguments are an object, also where the parameters do not say so. A call with other arguments would be none.
// place: where it stands in the whole schema.
OrderedJson arguments_schema(const Tools::Function& function, const std::string& place) {
  const OrderedJson* type = member(function.parameters, "type");
  if (type && *type == "object") return moved(function.parameters, place);
  const bool may_be_object = !type || (type->is_array() && std::ranges::find(*type, "object") != type->end());
  if (!may_be_object)
    throw Refusal("The parameters of \"" + function.name + "\" are of the type " + json_line(*type) +
                      ". Arguments of a call are an object.",
                  "tools", "invalid_schema");
  return {{"allOf", {moved(function.parameters, place + "/allOf/0"), {{"type", "object"}}}}};
}

// The name comes before the arguments, so a stream can say which function is called before the arguments are there.
OrderedJson call_schema(const Tools::Function& function, const std::string& place) {
  return {{"type", "object"},
          {"properties",
           {{"name", {{"const", function.name}}},
            {"arguments", arguments_schema(function, place + "/properties/arguments")}}},
          {"required", {"name", "arguments"}},
          {"additionalProperties", false}};
}

}  // namespace

FunctionNames Tools::names() const {
  FunctionNames names;
  for (const Function& each : functions) names.insert(each.name);
  return names;
}

// `tools` and `tool_choice` together decide whether a call is possible, certain or neither. A `strict` function is only
// accepted where a call is certain, because only then the mask enforces its schema.
Tools read_tools(const OrderedJson& body) {
  Tools tools;
  bool is_strict = false;
  const OrderedJson* list = member(body, "tools");
  if (list) read_list(*list, tools, is_strict);
  const bool has_tools = !tools.functions.empty();
  if (has_tools) tools.choice = Tools::Choice::automatic;
  if (const OrderedJson* choice = member(body, "tool_choice")) {
    if (!has_tools && *choice != "none" && *choice != "auto")
      throw Refusal("\"tool_choice\" asks for a call, and \"tools\" has no functions.", "tool_choice");
    read_choice(*choice, tools);
  }
  if (!has_tools) tools.choice = Tools::Choice::none;
  if (const OrderedJson* parallel = member(body, "parallel_tool_calls")) {
    if (!parallel->is_boolean()) refuse("parallel_tool_calls", "true or false");
    tools.parallel_calls = parallel->get<bool>();
  }
  if (is_strict && tools.choice == Tools::Choice::automatic)
    throw Refusal(
        "A function is \"strict\", which is enforced where a call is certain. Set \"tool_choice\" to "
        "\"required\" or to the function, or leave \"strict\" out.",
        "tools", "unsupported_value");
  if (has_tools && tools.choice != Tools::Choice::none) tools.offered = *list;
  return tools;
}

// The one schema that the constraint of a required call enforces: any of the functions, or the one that was named.
std::optional<std::string> schema_of_call(const Tools& tools) {
  if (tools.choice != Tools::Choice::required) return std::nullopt;
  std::vector<const Tools::Function*> possible;
  for (const Tools::Function& each : tools.functions)
    if (tools.named.empty() || each.name == tools.named) possible.push_back(&each);
  if (possible.size() == 1) return call_schema(*possible.front(), "").dump();
  OrderedJson calls = OrderedJson::array();
  for (const Tools::Function* each : possible)
    calls.push_back(call_schema(*each, "/anyOf/" + std::to_string(calls.size())));
  return OrderedJson{{"anyOf", calls}}.dump();
}

}  // namespace tandem::serve
