// The routes of a server with a tiny model, on a real socket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/serve/served.h"

namespace tandem::testing {
namespace {

using serve::Json;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Api, is_not_healthy_before_the_model_is_there) {
  Served served({.is_ready = false});
  EXPECT_EQ(served.get("/health").status, 503);
  EXPECT_THAT(served.post("/v1/completions", R"({"prompt":"x"})").body, HasSubstr("\"code\":\"loading\""));
  EXPECT_EQ(served.get("/metrics").status, 200);
  served.become_ready();
  EXPECT_EQ(served.get("/health").body, R"({"status":"ok"})");
}

TEST(Api, names_its_model) {
  const Served served;
  const Json list = Json::parse(served.get("/v1/models").body);
  EXPECT_EQ(list.at("data").at(0).at("id"), "tiny");
  EXPECT_EQ(list.at("data").at(0).at("meta").at("n_ctx"), 4096);
  EXPECT_EQ(served.get("/v1/models/other-name").status, 200);
  EXPECT_EQ(served.get("/v1/models/other%2Dname").status, 200);
  for (const char* other : {"other%2", "other%", "other%zzname", "%2E%2E%2Fother-name"})
    EXPECT_EQ(served.get("/v1/models/" + std::string(other)).status, 404) << other;
  const Answered unknown = served.get("/v1/models/gpt-4");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_THAT(unknown.body, HasSubstr(R"(this is \"tiny\", \"other-name\")"));
  EXPECT_EQ(served.post("/v1/completions", R"({"model":"gpt-4","prompt":"x"})").status, 404);
  EXPECT_EQ(served.json("/v1/completions", R"({"model":"other-name","prompt":"x"})").at("model"), "other-name");
}

TEST(Api, answers_to_every_name_if_it_is_told_so) {
  const Served served({.any_model = true});
  EXPECT_EQ(served.json("/v1/completions", R"({"model":"gpt-4","prompt":"x"})").at("model"), "gpt-4");
}

TEST(Api, says_what_there_is_not) {
  const Served served;
  EXPECT_EQ(served.get("/nothing").status, 404);
  EXPECT_EQ(served.get("/v1/../../etc/passwd").status, 404);
  EXPECT_EQ(served.get("/v1/completions").status, 405);
  EXPECT_THAT(served.get("/v1/completions").body, HasSubstr("POST"));
  EXPECT_THAT(served.get("/v1/completions").head, HasSubstr("Allow: POST\r\n"));
  EXPECT_THAT(served.post("/health", "{}").head, HasSubstr("Allow: GET, HEAD\r\n"));
  EXPECT_EQ(served.post("/health", "{}").status, 405);
  EXPECT_EQ(served.post("/v1/embeddings", R"({"input":"x"})").status, 501);
  EXPECT_EQ(served.post("/v1/completions", "{").status, 400);
}

TEST(Api, gives_text_as_tokens_and_back) {
  const Served served;
  const Json tokens = served.json("/tokenize", R"({"content":"ab c"})").at("tokens");
  ASSERT_FALSE(tokens.empty());
  EXPECT_EQ(served.json("/detokenize", Json{{"tokens", tokens}}.dump()).at("content"), "ab c");
  EXPECT_EQ(served.json("/tokenize", R"({"content":"ab c","with_pieces":true})").at("tokens").size(), tokens.size());
  for (const char* body : {"{}", R"({"content":1})", R"({"content":"x","colour":1})"})
    EXPECT_EQ(served.post("/tokenize", body).status, 400) << body;
  for (const char* body : {"{}", R"({"tokens":[99999]})", R"({"tokens":[-1]})", R"({"tokens":"x"})"})
    EXPECT_EQ(served.post("/detokenize", body).status, 400) << body;
}

// The tiny vocabulary has no token for U+5ABD, so its three bytes are three tokens.
TEST(Api, shows_a_part_of_a_character_as_bytes) {
  const Served served;
  const Json tokens =
      served.json("/tokenize", Json{{"content", "\xE5\xAA\xBD"}, {"with_pieces", true}}.dump()).at("tokens");
  std::string pieces;
  for (const Json& each : tokens) pieces += each.at("piece").dump() + " ";
  EXPECT_THAT(pieces, EndsWith("[229] [170] [189] "));
}

TEST(Api, has_openais_routes_without_v1_too) {
  const Served served;
  EXPECT_EQ(served.json("/completions", R"({"prompt":"a","max_tokens":1})").at("object"), "text_completion");
  EXPECT_EQ(served.json("/responses", R"({"input":"a","max_output_tokens":1})").at("object"), "response");
}

TEST(Api, gives_responses_and_their_messages_official_ids) {
  const Served served;
  const Json response = served.json("/v1/responses", R"({"input":"a","max_output_tokens":1})");
  EXPECT_THAT(response.at("id").get<std::string>(), StartsWith("resp_"));
  for (const Json& item : response.at("output")) EXPECT_THAT(item.at("id").get<std::string>(), StartsWith("msg_"));
}

TEST(Api, shows_what_the_template_makes_of_a_conversation) {
  const Served served;
  EXPECT_EQ(served.json("/apply-template", R"({"messages":[{"role":"user","content":"hi"}]})").at("prompt"),
            "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(served
                .json("/apply-template",
                      R"({"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"Well"}]})")
                .at("prompt"),
            "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\nWell")
      << "an answer that is begun is continued";
  const char* kTwo = R"({"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"Well"}],)"
                     R"("add_generation_prompt":false})";
  EXPECT_EQ(served.json("/apply-template", kTwo).at("prompt"),
            "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\nWell<|im_end|>\n");
  const Served without({.has_template = false});
  EXPECT_THAT(without.post("/v1/chat/completions", R"({"messages":[{"role":"user","content":"hi"}]})").body,
              HasSubstr("no_chat_template"));
}

TEST(Api, refuses_a_prompt_that_does_not_fit_with_both_numbers) {
  const Served served({.context = 256});
  std::string prompt = "[3";
  for (int i = 0; i < 299; ++i) prompt += ",3";
  const Answered refused = served.post("/v1/completions", "{\"prompt\":" + prompt + "]}");
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("context_length_exceeded"));
  EXPECT_THAT(refused.body, HasSubstr("300"));
  EXPECT_THAT(refused.body, HasSubstr("256"));
}

// Such a text is not even divided into tokens.
TEST(Api, refuses_a_text_of_megabytes_by_its_bytes) {
  const Served served({.context = 256});
  const std::string text(5'000'000, 'x');
  for (const auto& [path, body] :
       {std::pair<std::string, std::string>{"/v1/completions", R"({"prompt":")" + text + "\"}"},
        {"/v1/chat/completions", R"({"messages":[{"role":"user","content":")" + text + "\"}]}"}}) {
    const Answered refused = served.post(path, body);
    EXPECT_EQ(refused.status, 400);
    EXPECT_THAT(refused.body, HasSubstr("context_length_exceeded"));
    EXPECT_THAT(refused.body, HasSubstr("bytes, and a text has at most 256 tokens"));
  }
}

TEST(Api, ignores_what_it_does_not_know_only_if_it_is_told_so) {
  const Served strict, lenient({.lenient = true});
  EXPECT_THAT(strict.post("/v1/completions", R"({"prompt":"x","colour":1})").body, HasSubstr("colour"));
  EXPECT_EQ(lenient.post("/v1/completions", R"({"prompt":"x","colour":1})").status, 200);
}

TEST(Api, refuses_a_form_that_cannot_be_kept) {
  const Served served;
  const Answered refused = served.post(
      "/v1/completions",
      R"({"prompt":"x","response_format":{"type":"json_schema","json_schema":{"schema":{"type":"string","uniqueItems":true,"no-such-keyword":1}}}})");
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("invalid_schema"));
  EXPECT_EQ(served.post("/v1/completions", R"({"prompt":"x","grammar":"root :"})").status, 400);
}

TEST(Api, names_a_broken_form_as_its_route_does) {
  const Served served;
  const std::string schema = R"({"type":"json_schema","name":"a","schema":{"not":{}}})";
  const Answered response = served.post("/v1/responses", R"({"input":"x","text":{"format":)" + schema + "}}");
  EXPECT_EQ(response.status, 400);
  EXPECT_THAT(response.body, HasSubstr(R"("param":"text.format")"));
  const Answered chat = served.post(
      "/v1/chat/completions",
      R"({"messages":[{"role":"user","content":"x"}],"response_format":{"type":"json_object","schema":{"not":{}}}})");
  EXPECT_EQ(chat.status, 400);
  EXPECT_THAT(chat.body, HasSubstr(R"("param":"response_format")"));
}

TEST(Api, refuses_texts_when_the_server_ends) {
  Served served;
  served.api().finish(std::chrono::milliseconds(0));
  EXPECT_EQ(served.get("/health").status, 503);
  EXPECT_THAT(served.post("/v1/completions", R"({"prompt":"x"})").body, HasSubstr("server_ending"));
}

}  // namespace
}  // namespace tandem::testing
