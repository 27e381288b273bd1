// The description is made of the server itself. Each reader runs once over an example while its questions are noted. So
// the description has the members that the reader asks for, and no others.
#include "engine/serve/api/openapi.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <string>

#include "engine/serve/api/ask.h"
#include "engine/serve/api/embeddings.h"
#include "engine/serve/api/metrics.h"
#include "engine/serve/api/routes.h"
#include "engine/serve/api/small_asks.h"
#include "engine/serve/openai/responses.h"

namespace tandem::serve {
namespace {

constexpr const char* kEvents = "text/event-stream";
// A request that has the members which may not be absent. Readers then ask for all others.
const char* const kCompletion = R"({"prompt": "Once"})";
const char* const kChat = R"({"messages": [{"role": "user", "content": "Hello"}]})";

Json list_of(const Json& items) { return {{"type", "array"}, {"items", items}}; }
Json described(Json schema, const char* text) {
  schema["description"] = text;
  return schema;
}

// Texts or token ids, one or several.
Json texts_or_ids(const char* text) {
  const Json ids = list_of({{"type", "integer"}, {"minimum", 0}});
  return {{"anyOf", Json::array({{{"type", "string"}}, list_of({{"type", "string"}}), ids, list_of(ids)})},
          {"description", text}};
}

// Schemas of members whose readers look at a value themselves. A test finds members without a schema.
const std::map<std::string, Json>& told_of_members() {
  static const Json object = {{"type", "object"}};
  static const std::map<std::string, Json> told = {
      {"prompt", texts_or_ids("What the texts continue.")},
      {"input", texts_or_ids("What vectors are made of.")},
      {"messages", described(list_of({{"type", "object"}, {"required", Json::array({"role"})}}),
                             "The conversation: system, developer, user, assistant, tool.")},
      {"tokens", described(list_of({{"type", "integer"}, {"minimum", 0}}), "Token ids.")},
      {"tools", described(list_of(object), "Functions that the model may call.")},
      {"tool_choice", described(Json::object(), "none, auto, required, or one function.")},
      {"parallel_tool_calls", {{"type", "boolean"}}},
      {"chat_template_kwargs", described(object, "Further variables of the chat template.")},
      {"logit_bias", described(object, "Token ids, and what is added to their logits.")},
      {"response_format", described(object, "The form that the text keeps.")},
      {"json_schema", described(Json::object(), "A schema that the text satisfies.")},
      {"stream_options", described(object, "include_usage: the last event counts tokens.")},
      {"modalities", described(list_of({{"const", "text"}}), "Texts alone.")},
  };
  return told;
}

using Reader = std::function<void(const Json&)>;

// The description is the same for every model, so the rules are those of a large vocabulary.
AskRules any_rules() {
  AskRules rules;
  rules.vocabulary = 1 << 20;
  return rules;
}

// The members that a reader asks for while it reads `example`, as the schema of a request.
Json schema_of(const char* example, const Reader& read) {
  const Json body = parse_body(example);
  MemberNotes notes;
  read(body);
  Json properties = notes.members();
  for (auto& [name, schema] : properties.items())
    if (const auto told = told_of_members().find(name); told != told_of_members().end() && schema.empty())
      schema = told->second;
  Json required = Json::array();
  for (const auto& [name, value] : body.items()) required.push_back(name);
  return {{"type", "object"}, {"properties", properties}, {"required", required}};
}

// A response's request is translated into a chat's before it is read. So its members are those of a chat, without those
// of chats alone, and with its own.
Json schema_of_responses() {
  Json schema = schema_of(kChat, [](const Json& body) { read_chat(body, any_rules()); });
  for (const std::string_view name : members_of_chats_alone()) schema["properties"].erase(std::string(name));
  for (const OwnMember& own : own_members_of_responses())
    schema["properties"][std::string(own.name)] = Json::parse(own.schema);
  schema["required"] = Json::array({"input"});
  return schema;
}

// The schema of a route's body; null: it has none. Routes with a body each have a reader and the shortest request that
// it accepts.
Json request_schema(RouteId route) {
  const AskRules rules = any_rules();
  switch (route) {
    case RouteId::completions:
      return schema_of(kCompletion, [&](const Json& body) { read_completion(body, rules); });
    case RouteId::chat:
      return schema_of(kChat, [&](const Json& body) { read_chat(body, rules); });
    case RouteId::responses:
      return schema_of_responses();
    case RouteId::embeddings:
      return schema_of(R"({"input": "Once"})", [&](const Json& body) { read_embeddings(body, rules, 1); });
    case RouteId::tokenize:
      return schema_of(R"({"content": "Once"})", [&](const Json& body) { read_tokenize(body, rules); });
    case RouteId::detokenize:
      return schema_of(R"({"tokens": [1]})", [&](const Json& body) { read_detokenize(body, rules); });
    case RouteId::apply_template:
      return schema_of(kChat, [&](const Json& body) { read_apply_template(body, rules); });
    default:
      return nullptr;
  }
}

bool may_be_stream(RouteId route) {
  return route == RouteId::completions || route == RouteId::chat || route == RouteId::responses;
}

// What an answer's body is. A route that writes texts has two forms, and the request chooses by "stream".
Json content_of_answer(RouteId route) {
  const Json object = {{"schema", {{"type", "object"}}}}, text = {{"schema", {{"type", "string"}}}};
  if (route == RouteId::page) return {{"text/html", text}};
  if (route == RouteId::metrics) return {{"text/plain", text}};
  if (route == RouteId::timeline) return {{kEvents, text}};
  Json content = {{"application/json", object}};
  if (may_be_stream(route)) content[kEvents] = text;
  return content;
}

std::string name_of(const Route& route) {
  std::string name = route.method;
  for (const char letter : std::string(route.path)) name += std::isalnum(letter) != 0 ? letter : '_';
  return name;
}

// One route as OpenAPI describes it. A path and a method together are an operation.
Json operation(const Route& route) {
  Json operation = {{"operationId", name_of(route)}, {"summary", route.purpose}};
  if (std::string(route.path).find("{name}") != std::string::npos)
    operation["parameters"] =
        Json::array({{{"name", "name"}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}}});
  if (const Json schema = request_schema(route.id); !schema.is_null())
    operation["requestBody"] = {{"required", true}, {"content", {{"application/json", {{"schema", schema}}}}}};
  operation["responses"] = {{"200", {{"description", route.purpose}, {"content", content_of_answer(route.id)}}},
                            {"default", {{"$ref", "#/components/responses/Error"}}}};
  if (route.id == RouteId::health || route.id == RouteId::page) operation["security"] = Json::array();  // no key
  if (route.id == RouteId::metrics) {
    Json rows = Json::array();
    for (const MetricFacts& facts : metric_facts())
      rows.push_back({{"name", std::string("tandem_") + facts.name}, {"type", facts.kind}, {"help", facts.help}});
    operation["x-metrics"] = rows;
  }
  return operation;
}

// The form of every error, and one of them as an example.
Json error_answer() {
  const Json text_or_null = {{"type", Json::array({"string", "null"})}};
  const Json error = {{"type", "object"},
                      {"properties",
                       {{"message", {{"type", "string"}}},
                        {"type", {{"type", "string"}}},
                        {"param", text_or_null},
                        {"code", text_or_null}}},
                      {"required", Json::array({"message", "type", "param", "code"})}};
  const Json schema = {{"type", "object"}, {"properties", {{"error", error}}}, {"required", Json::array({"error"})}};
  const Json example = Json::parse(
      ApiError(400, "\"n\" is expected to be a whole number from 1 to 16.", "n", "invalid_value").response().body);
  return {{"description", "An error, in OpenAI's form."},
          {"content", {{"application/json", {{"schema", schema}, {"example", example}}}}}};
}

}  // namespace

// The server's key is optional in the document, because a server may run without one.
Json openapi_document() {
  Json paths = Json::object();
  for (const Route& route : routes()) {
    std::string method = route.method;
    std::ranges::transform(method, method.begin(), [](unsigned char letter) { return std::tolower(letter); });
    paths[route.path][method] = operation(route);
  }
  return {{"openapi", "3.1.0"},
          {"info",
           {{"title", "Tandem"},
            {"version", TANDEM_VERSION},
            {"summary", "Texts and vectors of one model, in OpenAI's form."},
            {"license", {{"name", "MIT"}, {"identifier", "MIT"}}}}},
          {"servers", Json::array({{{"url", "http://127.0.0.1:8080"}}})},
          {"security", Json::array({Json::object(), {{"key", Json::array()}}})},
          {"paths", paths},
          {"components",
           {{"securitySchemes", {{"key", {{"type", "http"}, {"scheme", "bearer"}}}}},
            {"responses", {{"Error", error_answer()}}}}}};
}

}  // namespace tandem::serve
