// `tandem serve`: the server as a program, with its flags, its variables and its end.
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>

#include "tests/engine/app/commands/whole.h"
#include "tests/engine/serve/client.h"

namespace tandem::testing {
namespace {

// A server as a child process, on a free port.
class ServerProcess {
 public:
  explicit ServerProcess(const Arguments& flags = {}, const ChildSettings& settings = {},
                         const Arguments& where = on_host(), const std::string& model = stories())
      : child_(Arguments{"serve", "-m", model, "--port", "0"} + where + flags, settings) {
    EXPECT_TRUE(child_.wait_until([this] { return child_.err().find("ready: ") != std::string::npos; }))
        << child_.err();
    const size_t at = child_.err().find("listening on http://"), end = child_.err().find(';', at);
    port_ = static_cast<uint16_t>(std::atoi(child_.err().c_str() + child_.err().rfind(':', end) + 1));
  }
  uint16_t port() const { return port_; }
  Child& child() { return child_; }
  Answered get(const std::string& path, const std::string& more = "") const {
    return ask(port_, testing::get(path, more));
  }
  Answered post(const std::string& path, const json& body, const std::string& more = "") const {
    return ask(port_, testing::post(path, body.dump(), more));
  }

 private:
  Child child_;
  uint16_t port_ = 0;
};

const json kShort = {{"prompt", "Once"}, {"max_tokens", 2}};

TEST(Serve, writes_the_text_of_run) {
  const json story = golden("story");
  ServerProcess server;
  EXPECT_EQ(server.get("/health").status, 200);
  const Answered answer =
      server.post("/v1/completions",
                  {{"prompt", story.at("prompt")}, {"max_tokens", story.at("greedy_ids").size()}, {"temperature", 0}});
  ASSERT_EQ(answer.status, 200) << answer.body;
  const std::string text = json::parse(answer.body).at("choices").at(0).at("text");
  const Ended run = tandem(Arguments{"run", "-m", stories(), "-p", story.at("prompt"), "-n",
                                     std::to_string(story.at("greedy_ids").size()), "-q"} +
                           on_host());
  EXPECT_EQ(text, run.out);
}

TEST(Serve, ends_with_status_0_when_it_is_told_to_end) {
  ServerProcess server;
  Client client(server.port());
  client.send(post("/v1/completions", R"({"prompt":"Once","max_tokens":400,"stream":true,"ignore_eos":true})"));
  ASSERT_TRUE(client.read_until("data: "));
  const auto asked = std::chrono::steady_clock::now();
  server.child().interrupt(SIGTERM);
  const std::string end = client.read_all();
  EXPECT_THAT(end, ::testing::EndsWith("0\r\n\r\n")) << "the stream has an end";
  const Ended ended = server.child().wait();
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(ended.out, "");
  EXPECT_LT(std::chrono::steady_clock::now() - asked, std::chrono::seconds(10));
}

// One answer is a draft of the next one, and the file has both.
TEST(Serve, makes_drafts_of_earlier_answers) {
  const Folder folder;
  const std::string history = folder.file("history"), no_text = folder.write("prediction", "\xFF\xFE no text");
  const json asked = {{"prompt", "Once upon a time"}, {"max_tokens", 80}, {"temperature", 0}, {"ignore_eos", true}};
  const auto answer_of = [&](const ServerProcess& server) {
    const Answered answer = server.post("/v1/completions", asked);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return json::parse(answer.body);
  };
  {
    ServerProcess server({"--spec", "sam", "--history", history, "--prediction", no_text});
    const json first = answer_of(server), second = answer_of(server);
    EXPECT_EQ(first["choices"][0]["text"], second["choices"][0]["text"]);
    EXPECT_GT(second["timings"]["draft_n_accepted"], first["timings"]["draft_n_accepted"].get<int64_t>() + 20);
    EXPECT_THAT(server.child().err(), HasSubstr("the prediction is not used: " + no_text));
    server.child().interrupt(SIGTERM);
    EXPECT_EQ(server.child().wait().status, 0);
  }
  EXPECT_EQ(json_of({"history", "stats", history})["records"], 2);
  ServerProcess next({"--spec", "sam", "--history", history, "--history-prompts", "--history-max", "1"});
  EXPECT_GT(answer_of(next)["timings"]["draft_n_accepted"], 20);
}

// The model drafts for itself, for two texts at a time. Each token but the first one of a text runs again alone.
TEST(Serve, checks_drafts_of_a_model_by_running_each_token_again_alone) {
  const json asked = {{"prompt", {"Once upon a time", "Lily had a cat."}},
                      {"max_tokens", 80},
                      {"temperature", 0},
                      {"ignore_eos", true}};
  int64_t drafts = 0;  // of the first text
  const auto texts_of = [&](const ServerProcess& server) {
    const Answered answer = server.post("/v1/completions", asked);
    EXPECT_EQ(answer.status, 200) << answer.body;
    const json body = json::parse(answer.body);
    drafts = body["timings"]["draft_n"];
    return std::vector<json>{body["choices"][0]["text"], body["choices"][1]["text"]};
  };
  const ServerProcess plain({"--spec", "none"});
  EXPECT_THAT(plain.get("/metrics").body, HasSubstr("\ntandem_checked_tokens_total 0\n"));
  const std::vector<json> texts = texts_of(plain);
  EXPECT_EQ(drafts, 0);
  for (const std::string mode : {"auto", "sdnpu"}) {
    ServerProcess server({"--spec", mode, "--draft-model", stories(), "--spec-check", "--parallel", "2"});
    EXPECT_EQ(texts_of(server), texts) << mode;
    EXPECT_EQ(texts_of(server), texts) << mode << ": beginnings are shared with texts that have ended";
    EXPECT_THAT(server.get("/metrics").body, HasSubstr("\ntandem_checked_tokens_total 316\n")) << mode;
    EXPECT_THAT(server.child().err(), Not(HasSubstr("without the draft model"))) << mode;
  }
  EXPECT_GT(drafts, 0) << "sdnpu runs all drafts";
}

// A server that took the draft model would look for a template next, and end.
TEST(Serve, refuses_draft_models_and_checks_that_cannot_be_used) {
  const Folder folder;
  const std::string other = toy_mixture(folder, 1, 64), missing = folder.file("missing.gguf");
  const auto ended = [&](const Arguments& flags) {
    const Arguments all = Arguments{"serve", "-m", stories(), "--port", "0"} + on_host() + flags;
    return tandem(all + Arguments{"--chat-template-file", folder.file("missing.jinja")});
  };
  const Ended vocabulary = ended({"--draft-model", other}), without = ended({"--draft-model", missing});
  EXPECT_EQ(vocabulary.status, 1);
  EXPECT_THAT(vocabulary.err, HasSubstr("the draft model has another vocabulary: " + other));
  EXPECT_EQ(without.status, 1);
  EXPECT_THAT(without.err, HasSubstr(missing));
  const Ended rule = ended({"--draft-model", stories(), "--spec", "sam"}),
              check = ended({"--spec-check", "--spec", "none"});
  EXPECT_EQ(rule.status, 2);
  EXPECT_THAT(rule.err, HasSubstr("--draft-model excludes --spec sam"));
  EXPECT_EQ(check.status, 2);
  EXPECT_THAT(check.err, HasSubstr("--spec-check excludes --spec none"));
}

TEST(Serve, says_at_its_end_why_the_history_could_not_keep_a_text) {
  ServerProcess server({"--history", "/proc/self/no/history"});
  EXPECT_EQ(server.post("/v1/completions", kShort).status, 200);
  server.child().interrupt(SIGTERM);
  const Ended ended = server.child().wait();
  EXPECT_EQ(ended.status, 0);
  EXPECT_THAT(ended.err, HasSubstr("was not kept in the history"));
}

TEST(Serve, says_that_its_port_is_taken_before_it_loads_the_model) {
  ServerProcess first;
  const Ended second = tandem(Arguments{"serve", "-m", stories(), "--port", std::to_string(first.port())} + on_host());
  EXPECT_EQ(second.status, 1);
  EXPECT_THAT(second.err, HasSubstr("the port is taken"));
  EXPECT_THAT(second.err, HasSubstr("--port"));
}

TEST(Serve, is_for_other_machines_only_with_a_key_or_a_word) {
  const Arguments outside{"serve", "-m", stories(), "--port", "0", "--host", "0.0.0.0"};
  const Ended refused = tandem(outside);
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("--api-key"));
  EXPECT_EQ(tandem(outside + Arguments{"--api-key", "k", "--no-api-key"}).status, 2);
  ServerProcess open({"--host", "0.0.0.0", "--no-api-key"});
  EXPECT_THAT(open.child().err(), HasSubstr("other machines may use this server"));
  EXPECT_EQ(open.get("/v1/models").status, 200);
}

TEST(Serve, asks_for_its_keys) {
  const Folder folder;
  std::ofstream(folder.file("keys")) << "first\n\nsecond\r\n";
  std::ofstream(folder.file("none")) << "\n";
  const auto status = [](const ServerProcess& server, const std::string& key) {
    return server.get("/v1/models", "Authorization: Bearer " + key + "\r\n").status;
  };
  ServerProcess flags({"--api-key", "mine", "--api-key-file", folder.file("keys")});
  for (const char* key : {"mine", "first", "second"}) EXPECT_EQ(status(flags, key), 200) << key;
  EXPECT_EQ(status(flags, "other"), 401);
  EXPECT_EQ(flags.get("/health").status, 200);
  ServerProcess variable({}, {.environment = {{"TANDEM_API_KEY", "of-the-environment"}}});
  EXPECT_EQ(status(variable, "of-the-environment"), 200);
  EXPECT_EQ(status(variable, ""), 401);
  const Ended empty = tandem({"serve", "-m", stories(), "--port", "0", "--api-key-file", folder.file("none")});
  EXPECT_EQ(empty.status, 1);
  EXPECT_THAT(empty.err, HasSubstr("the file of keys is empty"));
}

TEST(Serve, takes_names_pages_and_hosts_that_it_is_given) {
  ServerProcess server({"--alias", "mine", "--lenient", "--allow-host", "box.example", "--allow-origin",
                        "https://chat.example", "--chat-template", "chatml"});
  EXPECT_THAT(server.get("/v1/models").body, HasSubstr("\"mine\""));
  json body = kShort;
  body["model"] = "mine";
  body["colour"] = 1;
  EXPECT_EQ(server.post("/v1/completions", body).status, 200);
  body["model"] = "other";
  EXPECT_EQ(server.post("/v1/completions", body).status, 404);
  EXPECT_EQ(ask(server.port(), "GET /health HTTP/1.1\r\nHost: box.example\r\n\r\n").status, 200);
  EXPECT_EQ(ask(server.port(), "GET /health HTTP/1.1\r\nHost: other.example\r\n\r\n").status, 403);
  EXPECT_THAT(server.get("/health", "Origin: https://chat.example\r\n").head, HasSubstr("Access-Control-Allow-Origin"));
  const json chat = {{"messages", {{{"role", "user"}, {"content", "hi"}}}}, {"max_tokens", 2}};
  EXPECT_EQ(server.post("/v1/chat/completions", chat).status, 200);
  ServerProcess any({"--any-model"});
  EXPECT_EQ(any.post("/v1/completions", {{"prompt", "Once"}, {"max_tokens", 2}, {"model", "gpt-4"}}).status, 200);
}

TEST(Serve, has_so_many_texts_in_work_and_in_line) {
  ServerProcess server({"--parallel", "1", "--queue", "0", "-c", "4096"});
  EXPECT_THAT(server.child().err(), HasSubstr("ready: 1 texts at a time"));
  Client busy(server.port());
  busy.send(post("/v1/completions", R"({"prompt":"Once","max_tokens":4000,"stream":true,"ignore_eos":true})"));
  ASSERT_TRUE(busy.read_until("data: "));
  const Answered refused = server.post("/v1/completions", kShort);
  EXPECT_EQ(refused.status, 429);
  EXPECT_THAT(refused.head, HasSubstr("Retry-After: "));
  EXPECT_EQ(server.get("/health").status, 200);
}

TEST(Serve, has_a_page_unless_it_is_left_out) {
  ServerProcess with({"--api-key", "k"}), without({"--no-page"});
  EXPECT_EQ(with.get("/").status, 200) << "the page asks for the key itself";
  EXPECT_THAT(with.get("/").head, HasSubstr("Content-Security-Policy: default-src 'none'"));
  EXPECT_EQ(with.get("/tandem/timeline").status, 401);
  EXPECT_EQ(ask(with.port(), "GET / HTTP/1.1\r\nHost: other.example\r\n\r\n").status, 403);
  EXPECT_EQ(without.get("/").status, 404);
}

TEST(Serve, prints_its_description_without_a_model) {
  const Ended ended = tandem({"serve", "--openapi"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(json::parse(ended.out).at("openapi"), "3.1.0");
}

TEST(Serve, tells_how_long_passes_would_take_on_a_chip) {
  ServerProcess server({"--soc", "snapdragon-8gen3", "-c", "256"}, {},
                       {"--device", "host"});  // the chip has its own plan
  Client listener(server.port());
  listener.send(get("/tandem/timeline"));
  ASSERT_TRUE(listener.read_until("event: server\n"));
  EXPECT_EQ(server.post("/v1/completions", kShort).status, 200);
  ASSERT_TRUE(listener.read_until("event: modelled\n"));
  ASSERT_TRUE(listener.read_until("\"steps\":[[0,"));
  EXPECT_THAT(listener.read(), HasSubstr(R"("clock":"modelled")"));
  server.child().interrupt(SIGTERM);
  EXPECT_EQ(server.child().wait().status, 0) << "a listener does not hold up the end";
}

TEST(Serve, logs_a_member_that_it_does_not_know_once) {
  ServerProcess server({"--lenient", "--embeddings"});
  for (int i = 0; i < 2; ++i) {
    server.post("/v1/completions", {{"prompt", "a"}, {"max_tokens", 1}, {"colour", 1}});
    server.post("/v1/embeddings", {{"input", "a"}, {"colour", 1}, {"size", 1}});
  }
  server.child().interrupt(SIGTERM);
  const std::string log = server.child().wait().err;
  for (const std::string name : {"member colour", "member size"}) {
    EXPECT_THAT(log, HasSubstr(name));
    EXPECT_EQ(log.find(name), log.rfind(name)) << log;
  }
}

// Texts of requests are in no log, however much is logged.
TEST(Serve, logs_no_texts) {
  ServerProcess server({"-v", "-v"});
  server.post("/v1/completions", {{"prompt", "a-secret-word"}, {"max_tokens", 2}});
  server.post("/v1/completions", {{"prompt", 1}, {"a-secret-word", 1}});
  ask(server.port(), "GET /\x1b[31m HTTP/1.1\r\nHost: localhost\r\n\r\n");
  server.child().interrupt(SIGTERM);
  const Ended ended = server.child().wait();
  EXPECT_THAT(ended.err, HasSubstr("POST /v1/completions: 200"));
  EXPECT_THAT(ended.err, Not(HasSubstr("a-secret-word")));
  EXPECT_THAT(ended.err, Not(HasSubstr("\x1b")));
}

TEST(Serve, gives_the_vectors_of_embed_beside_texts) {
  ServerProcess server({"--embeddings", "--pooling", "mean"});
  const Answered answer =
      server.post("/v1/embeddings", {{"input", {"Once upon a time", "a dog"}}, {"encoding_format", "float"}});
  ASSERT_EQ(answer.status, 200) << answer.body;
  const json vectors = json::parse(answer.body);
  ASSERT_EQ(vectors.at("data").size(), 2u);
  const json embed =
      json_of(Arguments{"embed", "-m", stories(), "-p", "Once upon a time", "--pooling", "mean"} + on_host());
  EXPECT_EQ(vectors.at("data").at(0).at("embedding"), embed.at("data").at(0).at("embedding"));
  EXPECT_EQ(vectors.at("data").at(1).at("index"), 1);
  EXPECT_EQ(vectors.at("object"), "list");
  EXPECT_GT(vectors.at("usage").at("prompt_tokens"), 4);
  EXPECT_EQ(server.post("/v1/completions", kShort).status, 200);
}

TEST(Serve, refuses_what_has_no_vector_and_names_the_member) {
  ServerProcess server({"--embeddings"});
  const auto refused = [&](const json& body, int status, const std::string& parameter) {
    const Answered answer = server.post("/v1/embeddings", body);
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_EQ(json::parse(answer.body).at("error").at("param"), parameter) << answer.body;
  };
  for (const json& input : {json(), json(""), json::array(), json(1), json({1, "a"}), json::array({json::array()}),
                            json::array({-1}), json({{"a", 1}})})
    refused({{"input", input}}, 400, "input");
  refused({{"input", "a"}, {"encoding_format", "hex"}}, 400, "encoding_format");
  refused({{"input", "a"}, {"dimensions", 3}}, 400, "dimensions");
  refused({{"input", "a"}, {"colour", 1}}, 400, "colour");
  const json ids = json::parse(server.post("/v1/embeddings", {{"input", {1, 2, 3}}}).body);
  EXPECT_EQ(ids.at("usage").at("prompt_tokens"), 3);
}

TEST(Serve, says_how_it_would_give_vectors) {
  ServerProcess server;
  const Answered answer = server.post("/v1/embeddings", {{"input", "a"}});
  EXPECT_EQ(answer.status, 501);
  EXPECT_THAT(answer.body, HasSubstr("--embeddings"));
  EXPECT_EQ(tandem({"serve", "-m", stories(), "--port", "0", "--pooling", "cls"}).status, 2);
}

TEST(Serve, of_an_encoder_gives_vectors_alone) {
  const Folder folder;
  const std::string shape =
      folder.write("shape.json",
                   R"({"schema": 1, "architecture": "bert", "layers": 2, "hidden": 64, "feed_forward": 96, "heads": 4,
             "vocabulary": 320, "context_length": 64, "pooling": "mean"})");
  const std::string encoder = folder.file("encoder.gguf");
  ASSERT_EQ(tandem({"make-random", "--shape", shape, "--type", "F32", "-o", encoder}).status, 0);
  EXPECT_EQ(tandem(Arguments{"serve", "-m", encoder, "--port", "0"} + on_host()).status, 1);
  ServerProcess server({"--embeddings"}, {}, on_host(), encoder);
  EXPECT_EQ(server.post("/v1/embeddings", {{"input", "hello"}}).status, 200);
  EXPECT_EQ(server.post("/v1/completions", kShort).status, 501);
  const json long_text = {{"input", std::string(400, 'a') + " " + std::string(400, '.')}};
  const Answered answer = server.post("/v1/embeddings", long_text);
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.body, HasSubstr("context_length_exceeded"));
}

TEST(Serve, of_a_broken_model_fails) {
  const Folder folder;
  std::ofstream(folder.file("broken.gguf")) << "GGUF no";
  EXPECT_EQ(tandem({"serve", "-m", folder.file("broken.gguf"), "--port", "0"}).status, 1);
  EXPECT_EQ(tandem({"serve", "-m", folder.file("absent.gguf"), "--port", "0"}).status, 1);
}

}  // namespace
}  // namespace tandem::testing
