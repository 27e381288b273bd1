// `tandem serve`: opens the port first and the model behind it, so that clients can wait for /health instead of a
// refused connection. At the end it lets texts finish for some seconds.
#include "engine/app/commands/serve/serve.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>
#include <thread>

#include "engine/app/commands/bench/soc_clock.h"
#include "engine/app/commands/open_engine.h"
#include "engine/app/commands/text/draft_flags.h"
#include "engine/app/commands/text/draft_report.h"
#include "engine/app/commands/text/draft_texts.h"
#include "engine/app/commands/text/embed.h"
#include "engine/app/commands/text/generation.h"
#include "engine/app/commands/text/prompting.h"
#include "engine/app/file_flags.h"
#include "engine/app/flag_values.h"
#include "engine/app/interrupt.h"
#include "engine/app/report.h"
#include "engine/app/text_input.h"
#include "engine/run/serve/embedder_options.h"
#include "engine/serve/api/api.h"
#include "engine/serve/api/openapi.h"
#include "engine/serve/http/access.h"
#include "engine/serve/http/server.h"
#include "sync/error.h"
#include "tandem/embed.h"

namespace tandem::app {

// Blank lines and blanks at line ends are no part of a key.
std::vector<std::string> keys_of_file(const std::string& path) {
  std::vector<std::string> keys;
  std::istringstream lines(read_file(path));
  for (std::string line; std::getline(lines, line);) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (!line.empty()) keys.push_back(line);
  }
  if (keys.empty()) throw Error("the file of keys is empty", path, "Write a key a line");
  return keys;
}

// Other machines may ask only with a key, unless the user says that none is needed.
void require_safe(const ServeFlags& flags) {
  const bool has_key = !flags.keys.empty() || !flags.key_file.empty();
  if (std::ranges::find(flags.keys, "") != flags.keys.end())
    throw WrongUsage("--api-key: a key is empty; give one of some letters");
  if (has_key && flags.no_key) throw WrongUsage("--no-api-key: a key is given, too");
  if (!has_key && !flags.no_key && !http::is_loopback(flags.host))
    throw WrongUsage("--host " + http::printable(flags.host) +
                     ": other machines could use the server; give it --api-key or --api-key-file, or say "
                     "--no-api-key");
}

#ifdef TANDEM_HAS_SERVER
namespace {

using Milliseconds = std::chrono::milliseconds;
constexpr Milliseconds kGrace{7000};  // for texts in work when the server ends; all of it takes 10 s at most
constexpr Milliseconds kLongestEnd{9500};

// Paths without a key are those that tell nothing of texts.
http::ServerOptions server_options(const ServeFlags& flags) {
  http::ServerOptions options;
  options.host = flags.host;
  options.port = static_cast<uint16_t>(flags.port);
  options.access.keys = flags.keys;
  if (!flags.key_file.empty())
    for (std::string& key : keys_of_file(flags.key_file)) options.access.keys.push_back(std::move(key));
  options.access.hosts = flags.hosts;
  options.access.hosts.push_back(flags.host);
  options.access.origins = flags.origins;
  options.access.without_key = {"/health", "/v1/health"};
  if (!flags.no_page) options.access.without_key.push_back("/");  // it asks for a key itself
  return options;
}

// A request may say what the sampling flags say; they are what is used without its word. The first name is what answers
// call the model, so an alias takes the place of the file's name.
serve::ApiOptions api_options(const CommonFlags& flags, const ServeFlags& own) {
  serve::ApiOptions options;
  options.names = own.aliases;
  options.names.push_back(std::filesystem::path(flags.model).stem().string());
  options.any_model = own.any_model;
  options.lenient = own.lenient;
  options.width = own.parallel;
  options.most_waiting = own.queue;
  options.has_page = !own.no_page;
  options.pooling = own.pooling;
  options.usual = generate_options(flags);
  options.usual.interrupted = {};  // a signal lets texts end (Api::finish())
  return options;
}

// How long a pass would take on the chip of --soc, as if all of its tokens belonged to one text. The clock is made once
// and shared by all calls, because it reads the model's shape and the chip's profile.
serve::ChipClock chip_clock(const CommonFlags& flags, const Engine& engine) {
  if (flags.soc.empty()) return {};
  const int64_t most = engine.sizes().context;
  const auto clock =
      std::make_shared<const SocClock>(soc_request(flags, flags.model, usual_type(engine.model().file()), most, most));
  return {clock->profile().name, clock->strategy(), [clock](int64_t tokens, int64_t position) {
            const ModelledPass pass = clock->pass(tokens, {SyncCost::fast, position});
            serve::ChipPass chip{pass.run.compile_seconds + pass.run.seconds, pass.run.joules, pass.plan.devices, {}};
            for (const ModelSpan& span : pass.run.spans)
              chip.steps.push_back({span.device, span.kind, span.name, span.start_seconds, span.end_seconds});
            return chip;
          }};
}

// An encoder makes vectors alone, with its texts in one piece each. So its passes must be as long as its longest text
// may be.
EngineNeeds needs_of_server(const CommonFlags& flags, const ServeFlags& own) {
  const ModelConfig config = read_config(GgufFile::open(flags.model));
  if (!own.embeddings || !config.sees_all) return needs_of_texts(flags, own.parallel);
  EngineNeeds needs;
  needs.hidden_states = true;
  needs.sequences = own.parallel;
  needs.context = context_of_encoder(flags.ctx_size, config);
  needs.chunk = needs.context;
  return needs;
}

// A model that writes texts has a second engine for vectors, because passes of the first one give logits and no states.
// Both share the weights. null: not wanted, or the engine itself makes vectors.
std::unique_ptr<Engine> open_embedder(const Engine& engine, const ServeFlags& own) {
  if (!own.embeddings || engine.sizes().hidden_states) return nullptr;
  TextOptions options = embedder_options(engine);
  options.sequences = own.parallel;
  return std::make_unique<Engine>(engine.shared_model(), options);
}

std::string description_text() { return serve::openapi_document().dump(2); }

// The signal sets a mark, and this thread looks at it twenty times a second. A signal handler may do little more than
// set a mark.
void wait_for_interrupt() {
  while (!interrupted()) std::this_thread::sleep_for(Milliseconds(50));
}

// Answers that have ended may still be on their way to slow clients.
void wait_for_clients(const http::Server& server) {
  for (int i = 0; i < 100 && server.connections() > 0; ++i) std::this_thread::sleep_for(Milliseconds(10));
}

// A pass cannot be interrupted, and one of a large model may take longer than the end of a server may. All answers have
// ended before, so nobody waits for the pass. A trace that is being written may take longer, because a cut one
// cannot be read.
enum class TraceState { none, waits, is_written };
void end_in_time(const std::shared_ptr<const std::atomic<TraceState>>& trace) {
  std::thread([trace] {
    std::this_thread::sleep_for(kLongestEnd);
    while (*trace == TraceState::is_written) std::this_thread::sleep_for(Milliseconds(50));
    if (*trace == TraceState::waits)
      std::fprintf(stderr, "note: the trace is not written, as a pass takes longer than a server's end may\n");
    std::_Exit(kDone);
  }).detach();
}

// The server listens before the model is there, so that a taken port is known at once, and /health says what goes on.
// The engine outlives the texts, and the texts outlive the server. An interrupt ends it in three steps: no new
// requests, some seconds for texts in work, and a second for answers on their way.
int serve_command(const CommonFlags& flags, const ServeFlags& own) {
  apply_verbosity(flags);
  std::unique_ptr<Engine> engine, embedder;
  serve::Api api(api_options(flags, own));
  http::Server server(server_options(own),
                      [&api](std::shared_ptr<http::Exchange> exchange) { api.handle(std::move(exchange)); });
  const bool is_open = own.no_key && !http::is_loopback(own.host);
  if (is_open && !flags.quiet())
    std::fprintf(stderr, "note: other machines may use this server, and need no key (--no-api-key)\n");
  if (!flags.quiet())
    std::fprintf(stderr, "listening on %s; loading %s\n", server.address().c_str(), flags.model.c_str());
  engine = open_engine(flags, needs_of_server(flags, own));
  embedder = open_embedder(*engine, own);
  print_notes(flags, *engine);
  DraftNotes notes(flags);
  if (!engine->sizes().hidden_states) notes.explain(flags.generate.spec.mode, *engine);
  const DraftTexts draft_texts(flags, engine->model().tokenizer());
  draft_texts.print_notes();
  SpecOptions drafts = flags.generate.spec;
  draft_texts.give_to(drafts);
  drafts.model = open_draft_model(flags, *engine, own.parallel);
  const serve::Templates templates{chosen_template(flags, &engine->model().file(), false),
                                   chosen_template(flags, &engine->model().file(), true)};
  if (!templates.usual && !flags.quiet())
    std::fprintf(stderr, "note: the model has no chat template, so /v1/chat/completions refuses (--chat-template)\n");
  serve::ChipClock chip = chip_clock(flags, *engine);
  TraceFile trace(flags, *engine);
  Engine* const embeds = own.embeddings ? embedder ? embedder.get() : engine.get() : nullptr;
  if (embeds != nullptr) pooling_of(embeds->model(), own.pooling);  // its Error comes before the first request
  api.ready(*engine, templates, std::move(chip), embeds, std::move(drafts));
  if (!flags.quiet())
    std::fprintf(stderr, "ready: %lld texts at a time, of at most %lld tokens each\n",
                 static_cast<long long>(own.parallel), static_cast<long long>(engine->sizes().context));
  // From here on the server ends: it takes no request, texts in work may end, and answers on their way get a second.
  wait_for_interrupt();
  if (!flags.quiet())
    std::fprintf(stderr, "ending: texts in work have %lld s\n", static_cast<long long>(kGrace.count() / 1000));
  const auto trace_state =
      std::make_shared<std::atomic<TraceState>>(flags.trace.empty() ? TraceState::none : TraceState::waits);
  end_in_time(trace_state);
  server.stop_listening();
  api.finish(kGrace);  // no text is in work behind it
  notes.explain_history(draft_texts.history_problem());
  wait_for_clients(server);
  if (!flags.trace.empty()) *trace_state = TraceState::is_written;
  trace.finish();
  *trace_state = TraceState::none;
  return kDone;
}

}  // namespace
#else
namespace {

std::string description_text() {
  throw Error("this build has no server", "tandem serve", "Install Boost's header files and build again");
}

int serve_command(const CommonFlags&, const ServeFlags&) {
  throw Error("this build has no server", "tandem serve",
              "Install Boost's header files (Debian: libboost-dev) and build again; `./dev setup` does");
}

}  // namespace
#endif

// A request may say what the sampling flags say; they are what is used without its word.
void add_serve(CLI::App& app, Action& action) {
  auto flags = std::make_shared<FlagsWith<ServeFlags>>();
  CommonFlags& common = flags->common;
  ServeFlags& own = flags->own;
  add_model_flag(app, common);
  app.add_option("--port", own.port, "the port to listen on; 0: any free one")
      ->transform(whole({0, 65535}))
      ->envname("TANDEM_PORT")
      ->capture_default_str();
  app.add_option("--host", own.host, "the address to listen on; 0.0.0.0: all of this machine's")
      ->envname("TANDEM_HOST")
      ->capture_default_str();
  app.add_option("--parallel", own.parallel, "texts at a time (also -np); each has the whole context of -c")
      ->transform(whole(kParallelRange))
      ->envname("TANDEM_PARALLEL")
      ->capture_default_str();
  app.add_option("--queue", own.queue, "texts that may wait for their turn; more are refused (429)")
      ->transform(whole({0, 100000}))
      ->envname("TANDEM_QUEUE")
      ->capture_default_str();
  app.add_option("--alias", own.aliases, "a name of the model in requests; may be given several times")
      ->expected(1)
      ->take_all()
      ->envname("TANDEM_ALIAS");
  app.add_flag("--any-model", own.any_model, "answer to every name of a model");
  app.add_flag("--lenient", own.lenient, "ignore what is not known in requests (it is logged once); without: 400");
  app.add_flag("--no-page", own.no_page, "leave out the page at / (a chat, and what the devices do)");
  app.add_flag("--embeddings", own.embeddings, "answer /v1/embeddings too; an encoder answers nothing else");
  add_pooling_flag(app, own.pooling)->needs("--embeddings");
  app.set_version_flag(
      "--openapi", [] { return description_text(); }, "print the routes as an OpenAPI document, and do nothing else");
  add_template_flags(app, common);
  {
    const FlagGroup group(app, "Who may ask");
    app.add_option("--api-key", own.keys, "a key that requests must have; others on this machine can see the flag")
        ->expected(1)
        ->take_all()
        ->envname("TANDEM_API_KEY");
    reads_file(app.add_option("--api-key-file", own.key_file, "a file of keys, one a line"))
        ->envname("TANDEM_API_KEY_FILE");
    app.add_flag("--no-api-key", own.no_key, "no key is needed, also where other machines may ask");
    app.add_option("--allow-host", own.hosts,
                   "a name under which clients may ask, beside addresses, localhost and --host")
        ->expected(1)
        ->take_all();
    app.add_option("--allow-origin", own.origins, "a web page that may ask: https://chat.example, or * for every one")
        ->expected(1)
        ->take_all();
  }
  common.generate.sampler.temperature = 1;  // as OpenAI's
  add_sampling_flags(app, common);
  for (const char* name : {"--predict", "--seed", "--stop", "--ignore-eos"}) app.remove_option(app.get_option(name));
  add_spec_flags(app, common);
  add_engine_flags(app, common);
  app.get_option("--ctx-size")->envname("TANDEM_CTX_SIZE");
  add_compile_flag(app, common);
  add_output_flags(app, common);
  app.remove_option(app.get_option("--json"));
  app.callback([flags, &action] {
    require_safe(flags->own);
    require_used_drafts(flags->common);
    action = [flags] { return serve_command(flags->common, flags->own); };
  });
}

}  // namespace tandem::app
