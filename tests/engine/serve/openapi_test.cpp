// The description of the server says what the server does.
#include "engine/serve/api/openapi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "engine/serve/api/ask.h"
#include "engine/serve/api/metrics.h"
#include "engine/serve/api/routes.h"
#include "engine/serve/openai/responses.h"
#include "tests/engine/serve/served.h"

namespace tandem::testing {
namespace {

using serve::Json;
using ::testing::HasSubstr;

const Json& document() {
  static const Json made = serve::openapi_document();
  return made;
}

Json properties_of(const std::string& path) {
  return document()
      .at("paths")
      .at(path)
      .at("post")
      .at("requestBody")
      .at("content")
      .at("application/json")
      .at("schema")
      .at("properties");
}

TEST(OpenApi, describes_each_route_once) {
  size_t described = 0;
  std::set<std::string> ids;
  const auto paths = document().at("paths");
  for (const auto& [path, methods] : paths.items())
    for (const auto& [method, operation] : methods.items()) {
      ++described;
      EXPECT_TRUE(ids.insert(operation.at("operationId")).second) << path;
      EXPECT_EQ(operation.contains("requestBody"), method == "post") << path;
    }
  EXPECT_EQ(described, serve::routes().size());
}

TEST(OpenApi, is_what_the_server_gives) {
  const Served served({.is_ready = false});
  EXPECT_EQ(Json::parse(served.get("/openapi.json").body), document());
}

// A path that the server knows is refused for its method, and never as unknown.
TEST(OpenApi, names_paths_that_the_server_knows) {
  const Served served;
  for (const serve::Route& route : serve::routes()) {
    const Answered wrong = std::string(route.method) == "GET" ? served.post(route.path, "{}") : served.get(route.path);
    EXPECT_EQ(wrong.status, 405) << route.path;
  }
}

TEST(OpenApi, names_the_members_that_requests_may_have) {
  const Json chat = properties_of("/v1/chat/completions"), text = properties_of("/v1/completions");
  for (const char* name : {"messages", "tools", "stop", "stream", "seed", "user", "max_completion_tokens"})
    EXPECT_TRUE(chat.contains(name)) << name;
  EXPECT_FALSE(chat.contains("prompt"));
  EXPECT_EQ(chat.at("n"), (Json{{"type", "integer"}, {"minimum", 1}, {"maximum", serve::kMostChoices}}));
  EXPECT_TRUE(text.contains("prompt") && text.contains("echo") && text.contains("best_of"));
  EXPECT_TRUE(properties_of("/v1/responses").contains("max_output_tokens"));
  EXPECT_FALSE(properties_of("/v1/responses").contains("messages"));
  EXPECT_TRUE(properties_of("/v1/embeddings").contains("encoding_format"));
  EXPECT_TRUE(properties_of("/tokenize").contains("with_pieces"));
}

// A value that a schema excludes is refused, and its name is in the refusal.
TEST(OpenApi, excludes_what_requests_may_not_have) {
  const Json properties = properties_of("/v1/completions");
  int refused = 0;
  for (const auto& [name, schema] : properties.items()) {
    Json body = {{"prompt", "x"}};
    if (schema.contains("maximum"))
      body[name] = schema.at("maximum").get<double>() * 2 + 1e19;
    else if (schema.contains("type") && schema.at("type") != "null")
      body[name] = schema.at("type") == "object" ? Json("no object") : Json::object();
    else
      continue;
    ++refused;
    try {
      serve::read_completion(body, {{}, 100, false});
      ADD_FAILURE() << name << " was taken: " << body.dump();
    } catch (const serve::ApiError& error) {
      EXPECT_THAT(error.message, HasSubstr(name));
    }
  }
  EXPECT_GT(refused, 15);
}

// Members that only one value is taken for say which one it is.
TEST(OpenApi, describes_the_members_of_responses_as_their_reader_takes_them) {
  const Json properties = properties_of("/v1/responses");
  const auto is_taken = [](const std::string& name, const Json& value) {
    serve::OrderedJson body = {{"input", "Once"}};
    body[name] = serve::OrderedJson::parse(value.dump());
    try {
      serve::chat_body_of_response(body);
    } catch (const serve::Refusal& refusal) {
      EXPECT_THAT(refusal.what(), HasSubstr(name));
      return false;
    }
    return true;
  };
  for (const char* name : {"store", "background", "truncation"}) {
    EXPECT_TRUE(is_taken(name, properties.at(name).at("enum").at(0))) << name;
    EXPECT_FALSE(is_taken(name, name == std::string("truncation") ? Json("auto") : Json(true))) << name;
  }
  EXPECT_EQ(properties.at("top_logprobs").at("maximum"), 0);
  EXPECT_TRUE(is_taken("top_logprobs", 0));
  EXPECT_FALSE(is_taken("top_logprobs", 1));
  EXPECT_EQ(properties.at("include").at("maxItems"), 0);
  EXPECT_TRUE(is_taken("include", Json::array()));
  EXPECT_FALSE(is_taken("include", Json::array({"reasoning.encrypted_content"})));
  for (const char* name : {"previous_response_id", "conversation", "prompt", "max_tool_calls"}) {
    EXPECT_EQ(properties.at(name).at("type"), "null") << name;
    EXPECT_TRUE(is_taken(name, nullptr)) << name;
    EXPECT_FALSE(is_taken(name, "x")) << name;
  }
}

// No member is without a type, a form or a word about it.
TEST(OpenApi, says_something_of_each_member) {
  for (const char* path : {"/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/embeddings", "/tokenize",
                           "/detokenize", "/apply-template"}) {
    const Json properties = properties_of(path);
    for (const auto& [name, schema] : properties.items()) EXPECT_FALSE(schema.empty()) << path << " " << name;
  }
}

TEST(OpenApi, lists_the_metrics_that_are_written) {
  const Json rows = document().at("paths").at("/metrics").at("get").at("x-metrics");
  const std::string text = serve::metrics_text({}, {});
  EXPECT_GE(rows.size(), 15u);
  for (const Json& row : rows) {
    const std::string name = row.at("name"), help = row.at("help"), kind = row.at("type");
    EXPECT_THAT(text, HasSubstr("# HELP " + name + " " + help + "\n# TYPE " + name + " " + kind + "\n" + name + " "));
  }
}

}  // namespace
}  // namespace tandem::testing
