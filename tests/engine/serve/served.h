// A server with a tiny model of random weights, on a free port.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/serve/api/api.h"
#include "engine/serve/http/server.h"
#include "tests/engine/run/host_engine.h"
#include "tests/engine/serve/test_server.h"

namespace tandem::testing {

struct ServedSettings {
  int64_t width = 2, most_waiting = 64, context = 4096;
  bool has_template = true, is_ready = true, lenient = false, any_model = false, has_page = true;
  std::string chat_template{};  // "": chatml
  std::string device{};         // that multiplies; "": the host
};

class Served {
 public:
  explicit Served(const ServedSettings& settings = {}) : settings_(settings) {
    EngineOptions options = engines_.options();
    options.sequences = settings.width;
    options.context = settings.context;
    options.logit_rows = settings.width;
    if (!settings.device.empty()) {
      options.devices = {settings.device, "host"};
      options.plan = "npu-only";
    }
    engine_ = Engine::open(options);
    serve::ApiOptions of_api;
    of_api.names = {"tiny", "other-name"};
    of_api.width = settings.width;
    of_api.most_waiting = settings.most_waiting;
    of_api.lenient = settings.lenient;
    of_api.any_model = settings.any_model;
    of_api.has_page = settings.has_page;
    of_api.usual.sampler.temperature = 1;
    api_.emplace(of_api);
    server_.emplace(quick_options(), [this](Handed exchange) { api_->handle(std::move(exchange)); });
    if (settings.is_ready) become_ready();
  }
  void become_ready(std::optional<SpecOptions> drafts = {}) {
    serve::Templates templates;
    if (!settings_.chat_template.empty())
      templates.usual = chat::TemplateSource{settings_.chat_template, "the test's template"};
    else if (settings_.has_template)
      templates.usual = chat::known_template("chatml");
    templates.with_tools = templates.usual;
    api_->ready(*engine_, templates, {}, nullptr, std::move(drafts));
  }
  uint16_t port() const { return server_->port(); }
  http::Server& server() { return *server_; }
  serve::Api& api() { return *api_; }
  Engine& engine() { return *engine_; }
  // An engine of the same model on the same machine.
  std::unique_ptr<Engine> open_beside() const {
    TextOptions options;
    options.context = settings_.context;
    return std::make_unique<Engine>(engine_->shared_model(), options);
  }
  std::unique_ptr<Engine> open_alone() const {
    EngineOptions options = engines_.options();
    options.context = settings_.context;
    return Engine::open(options);
  }

  Answered get(const std::string& path) const { return ask(port(), testing::get(path)); }
  Answered post(const std::string& path, const std::string& body) const {
    return ask(port(), testing::post(path, body));
  }
  serve::Json json(const std::string& path, const std::string& body) const {
    const Answered answer = post(path, body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return serve::Json::parse(answer.body, nullptr, false);
  }
  // A number of /metrics.
  int64_t metric(const std::string& name) const {
    const std::string text = get("/metrics").body, line = "\ntandem_" + name + " ";
    const size_t found = text.find(line);
    return found == std::string::npos ? -1 : std::atoll(text.c_str() + found + line.size());
  }
  bool wait_for(const std::string& name, int64_t value) const {
    for (int i = 0; i < 500; ++i) {
      if (metric(name) == value) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }

 private:
  const ServedSettings settings_;
  const HostEngines engines_{"served", {.context_length = 4096}};
  std::unique_ptr<Engine> engine_;
  std::optional<serve::Api> api_;
  std::optional<http::Server> server_;
};

// The objects of a stream, without its end.
inline std::vector<serve::Json> events_of(const std::string& body) {
  std::vector<serve::Json> events;
  for (size_t at = 0; (at = body.find("data: ", at)) != std::string::npos;) {
    const size_t end = body.find("\n\n", at);
    const std::string text = body.substr(at + 6, end - at - 6);
    if (text != "[DONE]") events.push_back(serve::Json::parse(text));
    at = end;
  }
  return events;
}

}  // namespace tandem::testing
