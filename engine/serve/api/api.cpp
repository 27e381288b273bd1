// What each route does. The HTTP thread looks routes up and answers the short ones. A reader thread parses bodies and
// hands texts to the service, whose thread runs the passes.
#include "engine/serve/api/api.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <random>
#include <thread>
#include <utility>

#include "engine/model/tokenizer/utf8.h"
#include "engine/run/engine.h"
#include "engine/serve/api/answer.h"
#include "engine/serve/api/embeddings.h"
#include "engine/serve/api/openapi.h"
#include "engine/serve/api/small_asks.h"
#include "engine/serve/api/text_group.h"
#include "engine/serve/http/access.h"
#include "engine/serve/openai/messages.h"
#include "engine/serve/page/page.h"
#include "engine/serve/timeline/feed.h"
#include "tandem/embed.h"

namespace tandem::serve {
namespace {

constexpr int64_t kMostReading = 1024;
constexpr size_t kMostTold = 1000;  // names of unknown members in the log

// A random id needs no state, and tells nobody how many texts the server has written.
std::string new_id(bool is_chat) {
  static thread_local std::mt19937_64 random(std::random_device{}());
  char text[40];
  std::snprintf(text, sizeof text, "%s-%016llx", is_chat ? "chatcmpl" : "cmpl",
                static_cast<unsigned long long>(random()));
  return text;
}

ApiError model_loads() { return ApiError(503, "The model is being loaded.", "", "loading"); }

// Tells the client to come back after a second. A place in the reader's line, or among the listeners, may be free then.
ApiError too_many(const std::string& message) {
  ApiError error(429, message, "", "rate_limit_exceeded");
  error.retry_seconds = 1;
  return error;
}

// A request without a seed gets a random one, so two such requests give different texts.
uint64_t drawn_seed() {
  static thread_local std::random_device source;
  return (uint64_t{source()} << 32) | source();
}

// A token may be a part of a character. Its bytes then stand in the place of a text, as with llama.cpp.
Json piece_json(const std::string& piece) {
  Utf8Stream characters;
  std::string text = characters.push(piece);
  text += characters.flush();
  return text == piece ? Json(piece) : bytes_json(piece);
}

// A part of a path with %2F written out. A % without two digits stays, because a name may have one.
std::string unquoted(const std::string& part) {
  std::string text;
  for (size_t i = 0; i < part.size(); ++i) {
    unsigned value = 0;
    const char* const first = part.data() + i + 1;
    const bool is_quoted =
        part[i] == '%' && i + 2 < part.size() && std::from_chars(first, first + 2, value, 16).ptr == first + 2;
    text += is_quoted ? static_cast<char>(value) : part[i];
    if (is_quoted) i += 2;
  }
  return text;
}

// A stop text of the template ends an answer like an end token.
void add_stops(GenerateOptions& options, const Prompts& prompts) {
  if (options.ignore_end) return;
  for (const std::string& text : prompts.stop_texts()) options.stop.push_back(text);
}

// These routes answer while the model is being loaded, so that a load balancer and a browser see that the server lives.
bool answers_without_model(RouteId route) {
  return route == RouteId::health || route == RouteId::metrics || route == RouteId::page ||
         route == RouteId::description;
}

}  // namespace

// The parts that need the loaded model. All of this is made at once when the model is there, and published by one
// atomic pointer. So a request sees either nothing or everything.
struct Api::Served {
  Served(Engine& engine, const Templates& templates, const ApiOptions& options, ChipClock chip, Engine* embedder)
      : engine(engine),
        embedder(embedder),
        prompts(engine.model().tokenizer(), templates, engine.sizes().context),
        constraints(engine.model().tokenizer()),
        feed({watched(engine, options), [this] { return load(); }, std::move(chip)}),
        service(engine, options.width, options.most_waiting) {
    service.watch_passes(&feed);
  }
  static WatchedServer watched(const Engine& engine, const ApiOptions& options) {
    WatchedServer server{options.names.front(), TANDEM_VERSION, {}, options.width, engine.sizes().context};
    for (const DeviceInfo* device : engine.machine().infos()) server.lanes.push_back(device->id);
    return server;
  }
  WatchedLoad load() const {
    const TextService::Load now = service.load();
    return {now.waiting, now.active};
  }
  Engine& engine;
  Engine* const embedder;  // nullptr: none
  const Prompts prompts;
  const ConstraintMaker constraints;
  Feed feed;
  TextService service;  // ends before the feed that watches it
};

Api::Api(ApiOptions options)
    : options_(std::move(options)),
      created_(std::time(nullptr)),
      reader_(std::make_unique<sync::Worker>()),
      forming_(std::make_unique<sync::Worker>()),
      embedding_(std::make_unique<sync::Worker>()) {}

Api::~Api() {
  *is_ending_ = true;
  reader_.reset();        // its jobs use what is served
  forming_.reset();       // gets jobs from the reader
  embedding_.reset();     // likewise
  served_store_.reset();  // ends all texts
}

void Api::ready(Engine& engine, const Templates& templates, ChipClock chip, Engine* embedder,
                std::optional<SpecOptions> drafts) {
  if (drafts) options_.usual.spec = std::move(*drafts);
  served_store_ = std::make_shared<Served>(engine, templates, options_, std::move(chip), embedder);
  served_ = served_store_.get();
}

// Texts in work may end by themselves for a while. Answers end before the service does, which waits for its pass.
void Api::finish(std::chrono::milliseconds grace) {
  *is_ending_ = true;
  const auto deadline = std::chrono::steady_clock::now() + grace;
  const auto is_busy = [this] {
    if (reading_ > 0) return true;
    const Served* served = served_;
    if (!served) return false;
    const TextService::Load load = served->service.load();
    return load.active + load.waiting > 0;
  };
  while (is_busy() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::vector<std::weak_ptr<TextGroup>> left;
  {
    const std::lock_guard lock(keeping_);
    left.swap(groups_);
  }
  for (const auto& each : left)
    if (const auto group = each.lock()) group->end_with(server_ends());
  if (Served* served = served_) {
    served->service.close();
    served->feed.close();
  }
}

// A switch without a default, so that the compiler names a route that has no handler.
Api::Handler Api::handler_of(RouteId route) {
  switch (route) {
    case RouteId::page:
      return &Api::page;
    case RouteId::health:
      return &Api::health;
    case RouteId::metrics:
      return &Api::metrics;
    case RouteId::timeline:
      return &Api::timeline;
    case RouteId::description:
      return &Api::description;
    case RouteId::models:
      return &Api::models;
    case RouteId::model:
      return &Api::model;
    case RouteId::completions:
      return &Api::completions;
    case RouteId::chat:
      return &Api::chat;
    case RouteId::responses:
      return &Api::responses;
    case RouteId::embeddings:
      return &Api::embeddings;
    case RouteId::tokenize:
      return &Api::tokenize;
    case RouteId::detokenize:
      return &Api::detokenize;
    case RouteId::apply_template:
      return &Api::apply_template;
  }
  return nullptr;
}

// HTTP has one status for a known path with another method, and another status for an unknown path.
RouteId Api::route_of(const http::Request& request) const {
  std::string other_method;
  for (const Route& route : routes()) {
    if (!is_path_of(route, request.path) || (route.id == RouteId::page && !options_.has_page)) continue;
    if (request.method == route.method) return route.id;
    other_method = route.method;
  }
  if (!other_method.empty()) {
    ApiError error(405, "Ask " + http::printable(request.path) + " with the method " + other_method + ".", "",
                   "method_not_allowed");
    error.allowed_method = other_method;
    throw error;
  }
  throw ApiError(404, "There is nothing at " + http::printable(request.path) + ". docs/server.md lists the routes.", "",
                 "unknown_url");
}

// Short answers come from the server's own thread. Requests with a body may be long, so another thread reads them.
void Api::handle(std::shared_ptr<http::Exchange> exchange) {
  ++metrics_.requests;
  const http::Request& request = exchange->request();
  try {
    const RouteId route = route_of(request);
    if (!served_ && !answers_without_model(route)) throw *is_ending_ ? server_ends() : model_loads();
    if (request.method == "GET") return run(route, exchange);
    if (*is_ending_) throw server_ends();
    if (reading_ >= kMostReading) throw too_many("Too many requests are waiting.");
    ++reading_;
    const auto& thread = route == RouteId::embeddings ? embedding_ : reader_;
    thread->push([this, route, exchange] {
      run(route, exchange);
      --reading_;
    });
  } catch (const ApiError& error) {
    ++metrics_.refused;
    exchange->answer(error.response());
  }
}

void Api::run(RouteId route, const Exchange& exchange) {
  answering(exchange, [&] { (this->*handler_of(route))(exchange); });
}

// Exceptions of handlers end here, and become answers in OpenAI's form.
void Api::answering(const Exchange& exchange, const std::function<void()>& work) {
  try {
    work();
  } catch (...) {
    ++metrics_.refused;
    const ApiError error = error_of(std::current_exception());
    exchange->answer(error.response());
  }
}

void Api::health(const Exchange& exchange) {
  if (*is_ending_) throw server_ends();
  if (!served_) throw model_loads();
  exchange->answer(json_response({{"status", "ok"}}));
}

void Api::metrics(const Exchange& exchange) {
  const Served* served = served_;
  exchange->answer({200, metrics_text(metrics_, served ? served->service.load() : TextService::Load{}),
                    "text/plain; version=0.0.4; charset=utf-8"});
}

// The document says nothing of the model, so the first request makes it for all.
void Api::description(const Exchange& exchange) {
  static const http::Response made = json_response(openapi_document());
  exchange->answer(made);
}

void Api::page(const Exchange& exchange) { exchange->answer(page_response()); }

// The feed keeps the exchange and writes to it for as long as the client stays.
void Api::timeline(const Exchange& exchange) {
  if (*is_ending_) throw server_ends();
  if (!served_.load()->feed.add(exchange)) throw too_many("Enough clients listen to the timeline.");
}

// Clients look for the size of the context under llama.cpp's names, so these stand in "meta".
Json Api::model_json() const {
  const Served& served = *served_;
  return {{"id", options_.names.front()},
          {"object", "model"},
          {"created", created_},
          {"owned_by", "tandem"},
          {"meta",
           {{"n_ctx", served.engine.sizes().context},
            {"n_vocab", served.engine.model().vocabulary()},
            {"aliases", options_.names}}}};
}

void Api::models(const Exchange& exchange) {
  exchange->answer(json_response({{"object", "list"}, {"data", Json::array({model_json()})}}));
}

void Api::model(const Exchange& exchange) {
  served_name(unquoted(exchange->request().path.substr(std::string("/v1/models/").size())));
  exchange->answer(json_response(model_json()));
}

// A request may leave the name out, since there is one model.
std::string Api::served_name(const std::optional<std::string>& asked) const {
  if (!asked) return options_.names.front();
  if (options_.any_model || std::ranges::find(options_.names, *asked) != options_.names.end()) return *asked;
  std::string names;
  for (const std::string& name : options_.names) names += (names.empty() ? "\"" : ", \"") + name + "\"";
  throw ApiError(404, "The model \"" + http::printable(*asked) + "\" is not served here; this is " + names + ".",
                 "model", "model_not_found");
}

AskRules Api::rules() const { return {options_.usual, served_.load()->engine.model().vocabulary(), options_.lenient}; }

void Api::completions(const Exchange& exchange) {
  write_texts(exchange, read_completion(parse_body(exchange->request().body), rules()));
}

void Api::chat(const Exchange& exchange) {
  write_texts(exchange, read_chat(parse_body(exchange->request().body), rules()));
}

// The request becomes that of a chat, which the same reader checks. The original stays, because the answer repeats
// its settings.
void Api::responses(const Exchange& exchange) {
  const Json body = parse_body(exchange->request().body);
  const Json chat = chat_body_of_response(body);
  Ask ask = read_chat(chat, rules());
  write_texts(exchange, std::move(ask), ResponseHead{"", "", 0, body});
}

// A required call is a form of the text too: the schema of the call. Two forms cannot be kept at once.
std::shared_ptr<const Constraint> Api::constraint_of(const Ask& ask, const std::string& form) {
  const ConstraintMaker& maker = served_.load()->constraints;
  const auto call = schema_of_call(ask.tools);
  if (call && (ask.json_object || ask.json_schema || ask.grammar))
    throw ApiError(400, "A call of a function is required, so no other form can be kept.", "tool_choice",
                   "invalid_value");
  try {
    if (call) return maker.json_schema(*call, "the call of a function");
    if (ask.json_object) return maker.json_object();
    if (ask.json_schema) return maker.json_schema(*ask.json_schema);
    if (ask.grammar) return maker.grammar(*ask.grammar);
  } catch (const Error& error) {
    throw ApiError(400, error.what(), call ? "tools" : ask.grammar ? "grammar" : form, "invalid_schema");
  }
  return nullptr;
}

// A form is compiled on a thread of its own, so that requests without one do not wait for it.
void Api::write_texts(const Exchange& exchange, Ask ask, std::optional<ResponseHead> response) {
  tell_of(ask.ignored);
  const bool has_form =
      ask.json_object || ask.json_schema || ask.grammar || ask.tools.choice == Tools::Choice::required;
  if (!has_form) return start_texts(exchange, std::move(ask), std::move(response));
  ++reading_;
  forming_->push([this, exchange, ask = std::move(ask), response = std::move(response)]() mutable {
    answering(exchange, [&] { start_texts(exchange, std::move(ask), std::move(response)); });
    --reading_;
  });
}

// Each name is logged once. Clients choose the names, so neither the log nor the memory has room for all of them.
void Api::tell_of(const std::vector<std::string>& ignored) {
  const std::lock_guard lock(keeping_);
  for (const std::string& name : ignored)
    if (told_.size() < kMostTold && told_.insert(name).second)
      spdlog::warn("requests have the member {}, which is not known here", name);
}

// Groups that have ended are dropped whenever the list has doubled.
void Api::keep(const std::shared_ptr<TextGroup>& group) {
  const std::lock_guard lock(keeping_);
  if (groups_.size() == groups_.capacity()) std::erase_if(groups_, [](const auto& each) { return each.expired(); });
  groups_.push_back(group);
}

// Makes the texts of a request and hands them to a group, which answers. Each prompt has its choices, and their seeds
// follow each other, so a request with a seed can be repeated. All checks come before the first text is asked for.
// Texts have the group's id as label, which the timeline shows.
void Api::start_texts(const Exchange& exchange, Ask ask, std::optional<ResponseHead> response) {
  Served& served = *served_;
  if (*is_ending_) throw server_ends();
  if (served.engine.model().config().sees_all)
    throw ApiError(501, "The model is an encoder, which writes no text. Ask /v1/embeddings.", "", "not_implemented");
  GroupOptions group;
  group.head = {ask.is_chat, new_id(ask.is_chat), served_name(ask.model), std::time(nullptr)};
  group.is_stream = ask.is_stream;
  group.include_usage = ask.include_usage;
  group.client = exchange->request().authorization + "@" + exchange->request().client;
  group.stop = is_ending_;
  group.tokenizer = &served.prompts.tokenizer();
  group.has_logprobs = ask.logprobs.has_value();
  ask.options.logprobs = ask.logprobs.value_or(-1);
  ask.options.constraint = constraint_of(ask, response ? "text.format" : "response_format");
  if (ask.is_chat) add_stops(ask.options, served.prompts);
  const uint64_t seed = ask.seed.value_or(drawn_seed());
  std::vector<TextGroup::Text> texts;
  const auto add = [&](const std::vector<int32_t>& ids, const std::string& text, bool hides_start) {
    for (int64_t i = 0; i < ask.choices; ++i) {
      texts.push_back({ids, ask.options});
      texts.back().options.label = group.head.id;
      texts.back().options.sampler.seed = seed + static_cast<uint64_t>(i);
      if (!ask.echo) continue;
      group.echoes.push_back(text);
      group.hides_start.push_back(hides_start);
    }
  };
  if (ask.is_chat) {
    const chat::Text text = served.prompts.text(ask);
    group.reply_rules = served.prompts.reply_rules(ask, text);
    add(served.prompts.ids(text), "", false);
  }
  if (response) {
    response->id = "resp_" + group.head.id.substr(group.head.id.find('-') + 1);
    response->model = group.head.model;
    response->created = group.head.created;
    group.response = std::move(response);
  }
  for (const Ask::Prompt& prompt : ask.prompts) {
    const std::vector<int32_t> ids = served.prompts.ids(prompt);
    const bool is_text = prompt.ids.empty();
    add(ids, is_text ? prompt.text : served.prompts.tokenizer().decode(ids, true), is_text);
  }
  const auto made = std::make_shared<TextGroup>(exchange, std::move(group), std::move(texts), ask.choices, metrics_);
  keep(made);
  made->begin(served.service);
}

// Runs on a thread of its own, because the vectors of many texts take long.
void Api::embeddings(const Exchange& exchange) {
  if (served_.load()->embedder == nullptr)
    throw ApiError(501, "This server gives no embeddings. Start it with `tandem serve --embeddings`.", "",
                   "not_implemented");
  if (*is_ending_) throw server_ends();
  exchange->answer(json_response(embeddings_of(exchange->request().body)));
}

// Makes the vectors of a request. Texts that cannot have a vector are refused before any of them runs. An encoder reads
// a text in one pass, so its limit is the size of a pass; other models split a text into chunks.
Json Api::embeddings_of(const std::string& body) {
  const Served& served = *served_;
  Engine& engine = *served.embedder;
  const EmbeddingAsk ask = read_embeddings(parse_body(body), rules(), engine.width());
  tell_of(ask.ignored);
  const std::string name = served_name(ask.model);
  std::vector<std::vector<int32_t>> texts;
  int64_t tokens = 0;
  for (const Ask::Prompt& each : ask.texts) {
    texts.push_back(each.ids.empty() ? served.prompts.tokenizer().encode(each.text, {true, false}) : each.ids);
    const int64_t length = std::ssize(texts.back()),
                  most = std::min(engine.sizes().context,
                                  engine.model().config().sees_all ? engine.sizes().tokens : engine.sizes().context);
    if (length > most)
      throw ApiError(400,
                     "A text has " + std::to_string(length) + " tokens; this server takes at most " +
                         std::to_string(most) + " of each.",
                     "input", "context_length_exceeded");
    if (texts.back().empty()) throw ApiError(400, "A text without tokens has no vector.", "input", "invalid_value");
    tokens += length;
  }
  const auto is_ending = is_ending_;
  const EmbedOptions options{.pooling = options_.pooling, .interrupted = [is_ending] { return is_ending->load(); }};
  try {
    return embeddings_answer(embed(engine, texts, options), ask.base64, name, tokens);
  } catch (const Interrupted&) {
    throw server_ends();
  }
}

// Needs no pass, and so it never waits for the engine.
void Api::tokenize(const Exchange& exchange) {
  const TokenizeAsk ask = read_tokenize(parse_body(exchange->request().body), rules());
  const Tokenizer& tokenizer = served_.load()->prompts.tokenizer();
  Json tokens = Json::array();
  for (const int32_t id : tokenizer.encode(ask.content, {ask.add_special, ask.parse_special})) {
    if (ask.with_pieces)
      tokens.push_back({{"id", id}, {"piece", piece_json(tokenizer.piece(id, true))}});
    else
      tokens.push_back(id);
  }
  exchange->answer(json_response({{"tokens", tokens}}));
}

// The vocabulary of the tokenizer is the limit here, which may differ from the rows of the logits.
void Api::detokenize(const Exchange& exchange) {
  const Tokenizer& tokenizer = served_.load()->prompts.tokenizer();
  AskRules rules = this->rules();
  rules.vocabulary = tokenizer.size();
  const std::vector<int32_t> ids = read_detokenize(parse_body(exchange->request().body), rules);
  exchange->answer(json_response({{"content", tokenizer.decode(ids, true)}}));
}

void Api::apply_template(const Exchange& exchange) {
  const Ask ask = read_apply_template(parse_body(exchange->request().body), rules());
  exchange->answer(json_response({{"prompt", served_.load()->prompts.text(ask).bytes()}}));
}

}  // namespace tandem::serve
