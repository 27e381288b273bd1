// One engine and one service for all texts of a model. Callers have threads of their own, and only the service's thread
// runs passes. Every other work is handed to that thread, and runs between two passes.
#include "bindings/text_model.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <future>
#include <limits>
#include <set>
#include <string>

#include "engine/device/gpu/kept_file.h"
#include "engine/device/registry.h"
#include "engine/model/config.h"
#include "engine/model/pooling_names.h"
#include "engine/plan/strategy.h"
#include "engine/run/activation_sizes.h"
#include "engine/run/engine.h"
#include "engine/run/log_levels.h"
#include "engine/run/machine/expert_budget.h"
#include "engine/run/serve/embedder_options.h"
#include "engine/run/serve/extend.h"
#include "engine/run/serve/history_file.h"
#include "engine/run/serve/model_drafts.h"
#include "engine/run/serve/perplexity.h"
#include "engine/run/serve/spec_modes.h"
#include "engine/serve/openai/messages.h"
#include "engine/serve/openai/rendering.h"
#include "engine/serve/openai/reply_reader.h"
#include "engine/serve/openai/tools.h"
#include "sync/json_text.h"
#include "tandem/embed.h"

namespace tandem::bindings {
namespace {

constexpr int64_t kDraftRows = 32;                   // a pass of drafts wants so many logits beside those of its texts
constexpr int64_t kLogitsBytes = int64_t{64} << 20;  // of one pass, where the user does not say
constexpr std::chrono::milliseconds kLookEvery{20};
constexpr int64_t kMostContext = int64_t{1} << 31;

thread_local int callbacks_here = 0;

// A library logs like the program: warnings to standard error, unless TANDEM_LOG says otherwise. A misspelt level is
// refused, because it would silence what the user asks for.
void set_up_log_once() {
  static const bool is_set_up = [] {
    if (const std::string problem = problem_of_log_variable(); !problem.empty())
      throw UsageError("the log levels are wrong", problem, "Correct the variable, or unset it");
    log_to_stderr();
    return true;
  }();
  static_cast<void>(is_set_up);
}

// Reads an option that is one of some names. The error lists them all, cut to a length that fits a message.
template <typename Value, typename Known = std::initializer_list<std::pair<const char*, Value>>>
Value named(const std::string& name, const Known& known, const char* what) {
  std::string names;
  for (const auto& [each, value] : known) {
    if (name == each) return value;
    names += (names.empty() ? "" : ", ") + std::string(each);
  }
  throw UsageError("an option has an unknown value", std::string(what) + ": '" + name.substr(0, 80) + "'",
                   "Give one of " + names);
}

void require_range(const char* what, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return;
  throw UsageError("an option is out of range", std::string(what) + " " + std::to_string(value),
                   "Give a number from " + std::to_string(least) + " to " + std::to_string(most));
}

// Asks for the factory of each device, which throws for an unknown id before any model is read.
void require_devices(const std::vector<std::string>& devices) {
  for (const std::string& id : devices) as_kind<DeviceError>([&] { return device_factory(id).kind; });
}

// Compiled programs are kept in the same folder as the program's, so a binding starts as fast as `tandem run`.
MachineOptions machine_options(const std::vector<std::string>& devices, int threads) {
  set_up_log_once();
  require_devices(devices);
  require_range("threads", threads, 0, 4096);
  MachineOptions options;
  options.devices = devices;
  options.threads = threads;
  options.program_folder = gpu::default_cache_folder();
  return options;
}

// The same texts as the program's flags. A number without a unit counts GiB where it does so there.
ExpertBudget budget_of(const std::string& text, const char* what, bool bare_gib) {
  if (text.empty()) return {};
  const auto budget = read_expert_budget(text, bare_gib);
  if (!budget)
    throw UsageError("an option is no budget", std::string(what) + ": '" + text.substr(0, 80) + "'",
                     bare_gib ? "Give auto, 25%, 512MiB, 2GiB or 2 (GiB)" : "Give auto, 25%, 512MiB or 2GiB");
  return *budget;
}

// A policy without copies would be ignored, so it is refused.
void choose_experts(EngineOptions& options, const LoadOptions& asked) {
  options.expert_budget = budget_of(asked.expert_budget, "expert_budget", false);
  options.host_budget = budget_of(asked.host_budget, "host_budget", true);
  options.expert_copies = asked.expert_copies;
  options.packed_file = asked.packed;
  if (asked.expert_policy.empty()) return;
  options.expert_policy = named<std::string>(
      asked.expert_policy,
      {{"auto", "auto"}, {"mrs", "mrs"}, {"lru", "lru"}, {"lfu", "lfu"}, {"ema", "ema"}, {"static", "static"}},
      "expert_policy");
  if (!asked.expert_copies && options.expert_policy != "auto")
    throw UsageError("a policy says which expert leaves a slot, and none is copied into one",
                     "expert_policy: '" + asked.expert_policy + "'", "Set expert_copies too, or leave the policy out");
}

// Devices of a machine that is shared are open already.
void require_machines_own(const LoadOptions& asked) {
  if (!asked.machine) return;
  const char* const given = !asked.devices.empty() ? "device" : asked.threads != 0 ? "threads" : "expert_copies";
  if (asked.devices.empty() && asked.threads == 0 && !asked.expert_copies) return;
  throw UsageError("a shared machine has devices of its own", given,
                   "Give it to the machine, or load the model without one");
}

// An encoder reads each text as one piece, and its passes give states in the place of logits.
void be_encoder(TextOptions& options, const ModelConfig& config) {
  options.hidden_states = true;
  options.drafts = false;
  options.spare_texts = 0;
  options.context = context_of_encoder(options.context, config);
  options.chunk = options.context;
}

// Makes the engine's options from the user's, and checks each. Rows of logits decide how much a pass of eval() can
// return. The default fills at most 64 MiB, and there is always room for drafts of each text.
TextOptions text_options(const LoadOptions& asked, int64_t vocabulary) {
  require_range("parallel", asked.parallel, 1, kMostSequences);
  require_range("context", asked.context, 0, kMostContext);
  require_range("logit_rows", asked.logit_rows, 0, kMostContext);
  require_range("chunk", asked.chunk, 0, kMostContext);
  TextOptions options;
  options.plan = asked.plan.empty() ? "auto" : asked.plan;
  as_kind<UsageError>([&] { return chosen_strategy(options.plan); });
  options.i8_for_integers = asked.act == "auto";
  if (!asked.act.empty() && asked.act != "auto" && asked.act != "exact")
    options.act = named<ActType>(asked.act, {{"f32", ActType::f32}, {"f16", ActType::f16}, {"i8", ActType::i8}}, "act");
  if (!asked.cache_type.empty())
    options.kv_type = named<KvType>(asked.cache_type, {{"f16", KvType::f16}, {"f32", KvType::f32}}, "cache_type");
  options.context = asked.context;
  options.chunk = asked.chunk;
  if (asked.split != std::vector{-1.0}) options.split = asked.split;  // -1: measured, as the flag's
  as_kind<UsageError>([&] { require_shares(options.split); });
  options.sequences = asked.parallel;
  options.spare_texts = asked.parallel;  // sequences of the user's own
  options.drafts = true;
  const int64_t rows_that_fit =
      std::min(kDefaultChunk, kLogitsBytes / (vocabulary * static_cast<int64_t>(sizeof(float))));
  options.logit_rows = std::max(asked.logit_rows > 0 ? asked.logit_rows : rows_that_fit, asked.parallel + kDraftRows);
  return options;
}

// An error that names a device is the device's.
bool names_a_device(const Error& error, const std::vector<std::string>& asked) {
  const auto names = [&](const std::string& id) { return error.object().starts_with(id); };
  return std::ranges::any_of(asked, names) || std::ranges::any_of(available_devices(), names);
}

}  // namespace

// A comparison with NaN is false, so NaN is refused too.
void require_sound(const SamplerOptions& options) {
  const auto require = [](const char* what, double value, double least, double most) {
    if (value >= least && value <= most) return;
    throw UsageError("a number of the sampler's is out of range", std::string(what) + " " + std::to_string(value),
                     "Give a number from " + std::to_string(least) + " to " + std::to_string(most));
  };
  require("temperature", options.temperature, 0, 1e6);
  require("top_k", options.top_k, 0, std::numeric_limits<int>::max());
  require("top_p", options.top_p, 0, 1);
  require("min_p", options.min_p, 0, 1);
  require("repeat_penalty", options.repeat_penalty, 1e-6, 1e6);
  require("presence_penalty", options.presence_penalty, -1e6, 1e6);
  require("frequency_penalty", options.frequency_penalty, -1e6, 1e6);
}

SpecMode spec_mode_of(const std::string& name) {
  std::vector<std::pair<const char*, SpecMode>> known;
  for (const SpecMode mode : kSpecModes) known.emplace_back(to_string(mode), mode);
  return named<SpecMode>(name, known, "spec");
}

void require_drafts(int64_t draft_max) { require_range("draft_max", draft_max, 0, kMostDrafts - 1); }

// The models are not known yet, so list kernels are prepared for the usual number of tokens.
SharedMachine open_machine(const std::vector<std::string>& devices, int threads) {
  MachineOptions options = machine_options(devices, threads);
  options.listed_tokens = kListedTokens;
  return make_machine(options);
}

// Warnings that a model gives once, however many texts they hold for. Any thread may call it.
class Warnings {
 public:
  void say(const std::string& warning) {
    const std::lock_guard lock(mutex_);
    if (said_.insert(warning).second) spdlog::warn("{}", warning);
  }

 private:
  std::mutex mutex_;
  std::set<std::string> said_;
};

namespace {

// The program prints the same as notes. Runs on the machine's thread, behind a text.
void warn_of_drafts(Warnings& warnings, const Engine& engine, SpecMode mode, const TextHistory* history,
                    const Batcher::Result& ended) {
  const bool by_name = mode != SpecMode::automatic && mode != SpecMode::none;
  if (by_name && engine.contract().bits_depend_on_passes)
    warnings.say("drafts may change the text: a token's bits depend on the other tokens of its pass (spec)");
  if (const std::string& problem = ended.generation.drafts.model.problem; !problem.empty())
    warnings.say("the text went on without the draft model: " + problem);
  if (history != nullptr && !history->problem().empty())
    warnings.say("the text was not kept in the history: " + history->problem());
}

}  // namespace

// The engine, and what runs its texts. Members are destroyed from below: the service ends first.
struct TextModel::Open {
  Open(std::unique_ptr<Engine> of, int64_t parallel)
      : engine(std::move(of)), usual(chat_of(false)), with_tools(chat_of(true)), service(*engine, parallel) {}

  // A model without a template, or with one that cannot be used, still continues texts.
  std::optional<chat::TemplateSource> chat_of(bool has_tools) const {
    return chat::template_of(engine->model().file(), has_tools);
  }

  // The engine itself, if it gives states; else one beside it, which is made when it is first asked for.
  Engine& embeds() {
    if (engine->sizes().hidden_states) return *engine;
    if (!embedder) embedder = std::make_unique<Engine>(engine->shared_model(), embedder_options(*engine));
    return *embedder;
  }

  const std::unique_ptr<Engine> engine;
  const std::shared_ptr<Warnings> warnings = std::make_shared<Warnings>();
  std::shared_ptr<TextHistory> history;     // null: none
  std::shared_ptr<DraftModel> draft_model;  // null: none
  std::unique_ptr<Engine> embedder;         // of embeds(), for work between two passes
  const std::optional<chat::TemplateSource> usual, with_tools;
  std::mutex making;  // of the two below
  std::unique_ptr<ConstraintMaker> constraints;
  std::unique_ptr<Timeline> timeline;  // null: nothing is recorded
  TextService service;
};

// Reads the head of the file first, because an encoder needs other options than a model that writes. Errors of the
// engine name a path or a device, and that decides which kind of error the user gets.
std::shared_ptr<TextModel> TextModel::load(const LoadOptions& options) {
  require_no_callback();
  if (options.path.empty()) throw UsageError("there is no model to load", "path", "Name a GGUF file");
  require_machines_own(options);
  GgufFile file = as_kind<FileError>([&] { return GgufFile::open(options.path); });
  const ModelConfig config = as_kind<FileError>([&] { return read_config(file); });
  EngineOptions all;
  static_cast<TextOptions&>(all) = text_options(options, config.vocabulary);
  if (config.sees_all) be_encoder(all, config);
  static_cast<MachineOptions&>(all) = machine_options(options.devices, options.threads);
  if (all.plan == "auto") all.devices = with_host_beside_npus(all.devices);
  choose_experts(all, options);
  all.model_path = options.path;
  if (!all.program_folder.empty()) all.expert_folder = all.program_folder + "/packed";
  try {
    auto engine = options.machine ? std::make_unique<Engine>(
                                        std::make_shared<LoadedModel>(options.machine, all, std::move(file)), all)
                                  : Engine::open(all);
    const auto model = std::make_shared<TextModel>(std::move(engine), options.parallel, options.path);
    model->open_drafts(options.draft_model, options.history);
    return model;
  } catch (const Error& error) {
    const auto names = [&](const std::string& path) { return !path.empty() && error.object().find(path) != path.npos; };
    if (names(options.path) || names(options.packed) || names(options.draft_model) || names(options.history))
      throw FileError(error.failure(), error.object(), error.hint());
    if (names_a_device(error, options.devices)) throw DeviceError(error.failure(), error.object(), error.hint());
    throw;
  }
}

TextModel::TextModel(std::unique_ptr<Engine> engine, int64_t parallel, std::string path)
    : path_(std::move(path)),
      process_(::getpid()),
      vocabulary_(engine->model().vocabulary()),
      context_(engine->sizes().context),
      width_(engine->model().config().hidden),
      pass_logits_(std::min(engine->sizes().tokens, engine->sizes().logit_rows)),
      is_encoder_(engine->model().config().sees_all),
      parallel_(parallel),
      end_id_(engine->model().tokenizer().eos()),
      open_(std::make_shared<Open>(std::move(engine), parallel)) {}

// The smaller model runs on the machine's thread, and so it is opened there between two passes.
void TextModel::open_drafts(const std::string& draft_model, const std::string& history) {
  if (draft_model.empty() && history.empty()) return;
  require_writer();
  const auto model = open();
  if (!history.empty())
    model->history = std::make_shared<TextHistory>(history, model->engine->model().tokenizer(), kHistoryBytes);
  if (draft_model.empty()) return;
  ModelOptions options;
  options.model_path = draft_model;
  model->draft_model = load_draft_model(options, *model->engine, parallel_);
}

// In a child of fork() the threads that would have to end do not exist. The model's things belong to the parent.
TextModel::~TextModel() {
  if (::getpid() == process_)
    close();
  else
    static_cast<void>(new std::shared_ptr<Open>(std::move(open_)));
}

// Takes the engine out under the lock and ends it outside, since the end waits for texts. Calls that already run keep
// the engine alive by their own pointers. A child of fork() often closes all that it knows when it ends, so that is no
// error there.
void TextModel::close() {
  require_no_callback();
  if (!is_here()) return;
  std::shared_ptr<Open> last;
  {
    const std::lock_guard lock(mutex_);
    last = std::move(open_);
    open_ = nullptr;
  }
  if (last) last->service.close();
}

bool TextModel::is_closed() const {
  const std::lock_guard lock(mutex_);
  return open_ == nullptr;
}

bool TextModel::is_here() const { return ::getpid() == process_; }

void TextModel::require_here() const {
  if (!is_here())
    throw UsageError("a model is of no use in another process", path_,
                     "This process was forked after the model was loaded: load a model behind the fork");
}

// Every call begins here, and holds the result while it runs. So a model that is closed meanwhile is freed only when
// its last call has returned.
std::shared_ptr<TextModel::Open> TextModel::open() const {
  require_here();
  const std::lock_guard lock(mutex_);
  if (!open_) throw UsageError("the model is closed", path_, "Load it again");
  return open_;
}

std::vector<int32_t> TextModel::ids(std::string_view text, bool with_start, bool parse_special) const {
  return open()->engine->model().tokenizer().encode(text, {.add_bos_eos = with_start, .parse_special = parse_special});
}

// A text without tokens cannot be continued, so the start token stands for it where the vocabulary has one.
std::vector<int32_t> TextModel::prompt(std::string_view text) const {
  const auto model = open();
  const Tokenizer& tokenizer = model->engine->model().tokenizer();
  std::vector<int32_t> ids = tokenizer.encode(text, EncodeOptions());
  if (ids.empty() && tokenizer.bos() >= 0) ids.push_back(tokenizer.bos());
  if (ids.empty()) throw UsageError("the prompt is empty", path_, "This model has no start token; give some text");
  return ids;
}

std::string TextModel::text(std::span<const int32_t> ids, bool special) const {
  const auto model = open();
  require_tokens(ids);
  return model->engine->model().tokenizer().decode(ids, special);
}

// Some files have a template of their own for conversations with tools, so the conversation decides which one writes
// the prompt.
std::vector<int32_t> TextModel::chat_prompt(std::string_view json, std::vector<std::string>* stops) const {
  const auto model = open();
  const auto read = as_kind<UsageError>([&] { return chat::Conversation::read(json, "the messages"); });
  const auto& source = read.has_tools() ? model->with_tools : model->usual;
  if (!source) throw UsageError("the model has no chat template", path_, "Continue a text instead, without messages");
  if (read.has_tools() && serve::form_of_template(source->text) == nullptr)
    throw UsageError("the model's chat template has no functions, so none can be offered to it", path_,
                     "Leave `tools` out, or load a model whose template has them");
  const chat::ModelChat chat(*source, model->engine->model().tokenizer());
  if (stops) *stops = chat.stop_texts();
  std::vector<int32_t> ids;
  try {
    serve::OrderedJson conversation = serve::OrderedJson::parse(json);
    if (conversation.is_array()) conversation = {{"messages", std::move(conversation)}};
    conversation["messages"] = serve::template_messages(conversation["messages"]);
    if (read.has_tools()) conversation["tools"] = serve::read_tools(conversation).offered;
    const bool begins = conversation.value("add_generation_prompt", true);
    ids = as_kind<UsageError>([&] { return chat.prompt(serve::render_conversation(chat, conversation, begins)); });
  } catch (const serve::Refusal& refusal) {
    throw UsageError(refusal.message, refusal.param, "docs/server.md has the form of messages");
  }
  if (ids.empty()) throw UsageError("the prompt is empty", "the messages", "Give at least one message");
  return ids;
}

std::string TextModel::calls_of(std::string_view answer, std::string_view tools) const {
  const auto model = open();
  serve::OrderedJson calls = serve::OrderedJson::array();
  const serve::ToolForm* form = model->with_tools ? serve::form_of_template(model->with_tools->text) : nullptr;
  if (form == nullptr) return calls.dump();
  serve::ReplyRules rules;
  rules.has_thoughts = model->with_tools->text.find("<think>") != std::string::npos;
  rules.form = form;
  rules.functions = serve::read_tools({{"tools", serve::OrderedJson::parse(tools)}}).names();
  serve::ReplyReader reader(rules);
  serve::ReplyParts parts = reader.push(answer);
  for (const serve::ReplyPart& last : reader.finish()) parts.push_back(last);
  for (const serve::ReplyPart& part : serve::joined(parts))
    if (part.kind == serve::ReplyPart::Kind::call) calls.push_back({{"name", part.function}, {"arguments", part.text}});
  return json_line(calls);
}

std::vector<std::string> TextModel::chat_stops() const {
  const auto model = open();
  if (!model->usual)
    throw UsageError("the model has no chat template, so nothing says where an answer ends", path_,
                     "Continue a text instead, with stop texts of your own");
  return chat::ModelChat(*model->usual, model->engine->model().tokenizer()).stop_texts();
}

// The maker reads the whole vocabulary once, and so it is made at the first text that keeps a form. Its lock is held
// while a form is compiled.
std::shared_ptr<const Constraint> TextModel::constraint(const Form& form) const {
  const int forms = !form.json_schema.empty() + !form.grammar.empty() + form.json_object;
  if (forms == 0) return nullptr;
  if (forms > 1) throw UsageError("a text can keep one form", "json_schema, grammar, json_object", "Give one of them");
  const auto model = open();
  const std::lock_guard lock(model->making);
  if (!model->constraints) model->constraints = std::make_unique<ConstraintMaker>(model->engine->model().tokenizer());
  return as_kind<UsageError>([&] {
    if (form.json_object) return model->constraints->json_object();
    return form.grammar.empty() ? model->constraints->json_schema(form.json_schema)
                                : model->constraints->grammar(form.grammar);
  });
}

// Checked in front of a pass, because an id beyond the vocabulary would read past the table of embeddings.
void TextModel::require_tokens(std::span<const int32_t> ids) const {
  for (const int32_t id : ids)
    if (id < 0 || id >= vocabulary_)
      throw UsageError("an id is no token of the vocabulary", std::to_string(id),
                       "Ids are from 0 to " + std::to_string(vocabulary_ - 1));
}

// The number comes first: ids that do not fit are never read, and a wrong number of them may lie behind an array.
void TextModel::require_ids(std::span<const int32_t> ids, int64_t position) const {
  if (position + std::ssize(ids) > context_)
    throw ContextError("the tokens do not fit the context",
                       std::to_string(position + std::ssize(ids)) + " tokens, context " + std::to_string(context_),
                       "Load the model with a larger context, or give fewer tokens");
  require_tokens(ids);
}

// A service takes a list of texts at a time, and this list has one. The service refuses only when it is closed. The
// service ends before the engine, so the engine lives when a text ends.
TextTicket TextModel::start(std::vector<int32_t> prompt, GenerateOptions options, Sequence* sequence,
                            std::function<void(Batcher::Result)> on_end) {
  require_no_callback();
  const auto model = open();
  require_writer();
  if (std::ranges::find(options.stop, "") != options.stop.end())
    throw UsageError("a stop text is empty", "stop", "Give at least one character, or no stop text");
  if (prompt.empty()) throw UsageError("the prompt is empty", path_, "Give at least one token");
  require_ids(prompt, 0);
  options.spec.history = model->history;
  options.spec.model = model->draft_model;
  on_end = [warnings = model->warnings, engine = model->engine.get(), mode = options.spec.mode,
            history = model->history, tell = std::move(on_end)](Batcher::Result result) {
    warn_of_drafts(*warnings, *engine, mode, history.get(), result);
    tell(std::move(result));
  };
  std::vector<TextService::Wish> wishes(1);
  wishes[0] = {std::move(prompt), std::move(options), "", std::move(on_end), sequence};
  auto tickets = model->service.ask(std::move(wishes));
  if (!tickets || tickets->empty()) throw UsageError("the model is closed", path_, "Load it again");
  return tickets->front();
}

// The result comes by a promise that the callback shares, and this thread sleeps until it is there. An error of the
// text is thrown here, on the caller's thread.
Generation TextModel::write(std::vector<int32_t> prompt, GenerateOptions options, Sequence* sequence) {
  require_no_callback();
  const auto result = std::make_shared<std::promise<Batcher::Result>>();
  auto written = result->get_future();
  start(std::move(prompt), std::move(options), sequence,
        [result](Batcher::Result ended) { result->set_value(std::move(ended)); });
  Batcher::Result ended = written.get();
  if (ended.error) std::rethrow_exception(ended.error);
  return std::move(ended.generation);
}

// Hands work to the service's thread and waits. `work` and `model` belong to this call, which outlives them, so they
// are taken by reference. An exception of the work travels back by the promise.
void TextModel::between_passes(const std::function<void(Engine& engine)>& work, const std::function<void()>& look,
                               int64_t tokens) const {
  require_no_callback();
  const auto model = open();
  const auto done = std::make_shared<std::promise<void>>();
  auto result = done->get_future();
  const bool will_run = model->service.between_passes([&work, done, model = model.get(), tokens] {
    try {
      if (tokens > 0) model->service.make_room(tokens);
      work(*model->engine);
      done->set_value();
    } catch (...) {
      done->set_exception(std::current_exception());
    }
  });
  if (!will_run) throw UsageError("the model is closed", path_, "Load it again");
  while (look && result.wait_for(kLookEvery) != std::future_status::ready) look();
  result.get();
}

void TextModel::post(std::function<void(Engine&)> work) const {
  const auto model = open();
  model->service.between_passes([work = std::move(work), engine = model->engine.get()] { work(*engine); });
}

// The text is a sequence of its own, so neither other texts nor a user's sequences are touched. Logits are handed over
// in parts, because those of a long text may not fit the memory.
void TextModel::all_logits(std::span<const int32_t> ids, const LogitsSink& sink, const Patience& patience) const {
  if (ids.empty()) throw UsageError("there is nothing to evaluate", "ids", "Give at least one token");
  require_writer();
  require_ids(ids, 0);
  between_passes(
      [&](Engine& engine) {
        Sequence text = engine.cache().new_sequence();
        extend_all(engine, text, ids,
                   [&](int64_t first, std::span<const float> logits) {
                     require_finite(engine, logits, first);
                     sink(first, logits);
                   },
                   {.interrupted = patience.is_over});
      },
      patience.look, std::ssize(ids));
}

KeptLogits keep(Engine& engine, Logits logits) {
  const bool in_place = engine.keep_in_place(logits);
  const auto kept = std::make_shared<const Logits>(std::move(logits));
  return {kept->values(), kept, in_place};
}

KeptLogits keep(std::vector<float> values) {
  const auto kept = std::make_shared<const std::vector<float>>(std::move(values));
  return {*kept, kept, false};
}

// Ids are checked before memory is taken for their logits, which may be more than the machine has.
KeptLogits TextModel::eval(std::span<const int32_t> ids, const Patience& patience) const {
  const auto model = open();
  require_writer();
  require_ids(ids, 0);
  if (std::ssize(ids) <= pass_logits_ && !ids.empty()) {
    KeptLogits kept;
    between_passes(
        [&](Engine& engine) {
          Sequence text = engine.cache().new_sequence();
          const Extension whole{&text, ids, std::ssize(ids)};
          const Logits logits = engine.extend({&whole, 1});
          require_finite(engine, logits, 0);
          kept = keep(engine, logits);
        },
        patience.look, std::ssize(ids));
    return kept;
  }
  std::vector<float> all(ids.size() * static_cast<size_t>(vocabulary_));
  all_logits(
      ids,
      [&](int64_t first, std::span<const float> logits) {
        std::ranges::copy(logits, all.begin() + first * vocabulary_);
      },
      patience);
  return keep(std::move(all));
}

// The row of a token predicts the next one, so the last row is not used. Only a sum is kept, whatever the length.
double TextModel::perplexity(std::span<const int32_t> ids, const Patience& patience) const {
  as_kind<UsageError>([&] { require_two_tokens(ids, "ids"); });
  LogLikelihood sum;
  const auto V = static_cast<size_t>(vocabulary_);
  all_logits(
      ids,
      [&](int64_t first, std::span<const float> logits) {
        for (size_t row = 0, next = static_cast<size_t>(first) + 1; row * V < logits.size() && next < ids.size();
             ++row, ++next) {
          sum.negative_log_sum += negative_log_likelihood(logits.subspan(row * V, V), ids[next]);
          ++sum.tokens;
        }
      },
      patience);
  return sum.perplexity();
}

void TextModel::require_writer() const {
  if (is_encoder_)
    throw UsageError("the model is an encoder, which writes no text", path_, "Ask for vectors of texts (embed)");
}

std::vector<float> TextModel::embed(std::span<const std::vector<int32_t>> texts, const std::string& pooling,
                                    bool normed, const Patience& patience) const {
  EmbedOptions options{{}, normed, patience.is_over};
  if (!pooling.empty()) options.pooling = named<Pooling>(pooling, kPoolingNames, "pooling");
  if (texts.empty()) throw UsageError("there is no text", "embed", "Give at least one");
  for (const auto& text : texts) {
    if (text.empty()) throw UsageError("a text without tokens has no vector", path_, "Give at least one token");
    require_ids(text, 0);
  }
  const auto model = open();
  std::vector<float> all;
  between_passes(
      [&](Engine&) {
        for (const auto& vector : as_kind<UsageError>([&] { return tandem::embed(model->embeds(), texts, options); }))
          all.insert(all.end(), vector.begin(), vector.end());
      },
      patience.look);
  return all;
}

// The planner changes on the machine's own thread, because that thread uses it in every pass.
void TextModel::plan_by(OwnPlanner planner) {
  between_passes([&](Engine& engine) {
    engine.machine().orchestrator().run([&] { engine.plans().plan_by(std::move(planner)); });
  });
}

// The timeline is switched between two passes, so it has whole passes alone.
void TextModel::start_trace() {
  const auto model = open();
  between_passes([&](Engine& engine) {
    if (model->timeline) throw UsageError("a trace is recorded already", path_, "End it first");
    model->timeline = std::make_unique<Timeline>();
    engine.machine().record(model->timeline.get());
  });
}

Timeline TextModel::stop_trace() {
  const auto model = open();
  Timeline recorded;
  between_passes([&](Engine& engine) {
    if (!model->timeline) throw UsageError("no trace is recorded", path_, "Start one first");
    engine.machine().record(nullptr);
    recorded = std::move(*model->timeline);
    model->timeline = nullptr;
  });
  return recorded;
}

InCallback::InCallback() { ++callbacks_here; }
InCallback::~InCallback() { --callbacks_here; }

bool is_in_callback() { return callbacks_here > 0; }

void require_no_callback() {
  if (is_in_callback())
    throw UsageError("a call out of a callback would wait for itself", "a callback of a text",
                     "Return from the callback first, or stop the text by what it returns");
}

}  // namespace tandem::bindings
