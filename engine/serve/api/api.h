// The routes of the server: what a request gets from a model.
//
// Contract: handle() is an http::Handler. It answers at once while the model is being loaded: 503, also for /health.
// ready() says that it is there. Requests are read on a thread of the Api's own, so that neither the HTTP server's
// thread nor the engine's waits for a long prompt. Another thread compiles the forms of texts, and another one makes
// vectors of texts. finish() refuses new texts; when its time is over, it ends the others. Ownership: borrows the
// engine, which must outlive it. The Api must outlive the server that calls it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/model/chat_template/model_chat.h"
#include "engine/serve/api/ask.h"
#include "engine/serve/api/metrics.h"
#include "engine/serve/api/prompts.h"
#include "engine/serve/api/routes.h"
#include "engine/serve/http/exchange.h"
#include "engine/serve/openai/responses.h"
#include "engine/serve/timeline/events.h"
#include "sync/worker.h"
#include "tandem/constraint.h"
#include "tandem/engine.h"
#include "tandem/generate.h"

namespace tandem::serve {

class TextGroup;

struct ApiOptions {
  std::vector<std::string> names;    // of the model; the first one is its own
  bool any_model = false;            // every name is the model's
  bool lenient = false;              // unknown members of requests are ignored, and logged once each
  int64_t width = 4;                 // texts at a time
  int64_t most_waiting = 256;        // texts that wait for a turn
  bool has_page = true;              // at "/"
  GenerateOptions usual;             // what requests do not say
  std::optional<Pooling> pooling{};  // of /v1/embeddings; nothing: the model's
};

class Api {
 public:
  explicit Api(ApiOptions options);
  ~Api();
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  void handle(std::shared_ptr<http::Exchange> exchange);
  // embedder: the engine of /v1/embeddings (TextOptions::hidden_states), which may be the only one; nullptr: none.
  // drafts: with texts of the model's tokenizer, in the place of those of ApiOptions::usual.
  void ready(Engine& engine, const Templates& templates, ChipClock chip = {}, Engine* embedder = nullptr,
             std::optional<SpecOptions> drafts = {});
  // Takes no more texts. After this time, the answers that are left end with an error. Then the texts end, which may
  // take as long as the pass that runs.
  void finish(std::chrono::milliseconds grace);

 private:
  using Exchange = std::shared_ptr<http::Exchange>;
  using Handler = void (Api::*)(const Exchange& exchange);
  struct Served;
  static Handler handler_of(RouteId route);
  RouteId route_of(const http::Request& request) const;
  void run(RouteId route, const Exchange& exchange);
  void answering(const Exchange& exchange, const std::function<void()>& work);

  void health(const Exchange& exchange);
  void metrics(const Exchange& exchange);
  void description(const Exchange& exchange);
  void page(const Exchange& exchange);
  void timeline(const Exchange& exchange);
  void models(const Exchange& exchange);
  void model(const Exchange& exchange);
  void completions(const Exchange& exchange);
  void chat(const Exchange& exchange);
  void responses(const Exchange& exchange);
  void embeddings(const Exchange& exchange);
  Json embeddings_of(const std::string& body);
  void tokenize(const Exchange& exchange);
  void detokenize(const Exchange& exchange);
  void apply_template(const Exchange& exchange);

  Json model_json() const;
  AskRules rules() const;
  std::string served_name(const std::optional<std::string>& asked) const;
  // form: the member that a request has for its form.
  std::shared_ptr<const Constraint> constraint_of(const Ask& ask, const std::string& form);
  void write_texts(const Exchange& exchange, Ask ask, std::optional<ResponseHead> response = {});
  void start_texts(const Exchange& exchange, Ask ask, std::optional<ResponseHead> response);
  void keep(const std::shared_ptr<TextGroup>& group);
  void tell_of(const std::vector<std::string>& ignored);

  ApiOptions options_;     // ready() changes it before the first text
  const int64_t created_;  // seconds since 1970
  Metrics metrics_;
  const std::shared_ptr<std::atomic<bool>> is_ending_ = std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<Served> served_store_;
  std::atomic<Served*> served_ = nullptr;
  std::atomic<int64_t> reading_ = 0;              // requests that wait for the reader
  std::set<std::string> told_;                    // unknown members that were logged
  std::mutex keeping_;                            // of groups_ and told_
  std::vector<std::weak_ptr<TextGroup>> groups_;  // whose answers may not have ended
  std::unique_ptr<sync::Worker> reader_;
  std::unique_ptr<sync::Worker> forming_;    // compiles the forms of texts, which may take seconds
  std::unique_ptr<sync::Worker> embedding_;  // runs requests for vectors, beside the reader
};

}  // namespace tandem::serve
