// Many texts in one engine. Each step makes one pass of all active texts: one token and its drafts from each that
// writes, and a share of the room for each prompt. All of this runs on the machine's own thread.
#include <algorithm>
#include <chrono>
#include <deque>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "engine/run/cache/extension.h"
#include "engine/run/engine.h"
#include "engine/run/serve/draft_check.h"
#include "engine/run/serve/generate.h"
#include "engine/run/serve/logprobs.h"
#include "engine/run/serve/pass_room.h"
#include "engine/run/serve/pass_watch.h"
#include "engine/run/serve/speculation.h"
#include "engine/run/serve/verification.h"
#include "sync/clock.h"
#include "sync/error.h"
#include "sync/worker.h"
#include "tandem/generate.h"

namespace tandem {
namespace {

int64_t tokens_of(std::span<const Extension> pass) {
  int64_t tokens = 0;
  for (const Extension& each : pass) tokens += std::ssize(each.ids);
  return tokens;
}

// How many tokens both texts begin with. Keys and values of so many can be shared.
int64_t common_prefix(std::span<const int32_t> a, std::span<const int32_t> b) {
  return std::ranges::mismatch(a, b).in1 - a.begin();
}

}  // namespace

// The requests, and what they share.
class Batcher::State {
 public:
  struct Request {
    Sequence* sequence = nullptr;  // the caller's; nullptr: the batcher makes one
    std::vector<int32_t> prompt;
    GenerateOptions options;
    OnEnd on_end;
  };
  struct ActiveRequest {
    Sequence* given = nullptr;  // the caller's sequence; nullptr: `own` is used
    Sequence own;
    std::vector<int32_t> prompt;
    Continuation continuation;
    OnEnd on_end;
    int64_t cached_prefix_tokens = 0;
    double began = 0, first_logits = 0;  // seconds of the clock
    std::string label{};                 // GenerateOptions::label
    std::function<void(const ChosenToken&)> on_prompt_token{};
    int64_t logprobs = -1;          // GenerateOptions::logprobs, for it
    std::deque<int64_t> chunks{};   // of the rest of the prompt, while the request is alone; empty: not cut yet
    std::optional<int32_t> next{};  // the sampled token that has not run yet; nothing: the prompt is being read
    std::unique_ptr<TextSpeculation> speculation{};  // null: the text gets no drafts
    std::string no_drafts_because{};                 // empty if there is one
    std::unique_ptr<DraftCheck> check{};             // null: drafts are not checked
    std::shared_ptr<TextHistory> history{};          // gets the text when it has ended; null: none
    bool history_of_prompts = false;
    std::vector<int32_t> pass_ids{}, pass_parents{};  // of the pass: `next` and the drafts behind it; parents of a tree
    int64_t passes = 0;                               // that wrote tokens
    bool cut = false;                                 // interrupted while the prompt was read
    std::exception_ptr error{};                       // the error that the request ends with

    Sequence& sequence() { return given ? *given : own; }
    const Sequence& sequence() const { return given ? *given : own; }
  };

  State(Engine& engine, int64_t width) : engine_(engine), width_(width), speculation_(engine) {
    TANDEM_CHECK(width > 0, "active requests");
  }
  int64_t active() const { return std::ssize(active_); }
  void free_pages(int64_t pages);
  size_t vocabulary() const { return static_cast<size_t>(engine_.model().config().vocabulary); }
  LogitRows rows_of(std::span<const float> logits) const {
    return {logits, vocabulary(), static_cast<size_t>(engine_.model().tokenizer().size())};
  }
  bool step();

  Engine& engine_;
  std::deque<Request> queue_;
  Totals totals_;
  PassWatch* watch_ = nullptr;

 private:
  static bool is_reading(const ActiveRequest& request);  // part of its prompt has not run
  static bool is_complete(const ActiveRequest& request);
  template <typename Work>
  static void guard(ActiveRequest& request, const Work& work);
  bool awaits_shared_prefix(const Request& next) const;
  void admit();
  ActiveRequest begin(Request& next);
  std::unique_ptr<TextSpeculation> speculation_of(const Request& next);
  Sequence shared_beginning(std::span<const int32_t> prompt);
  int64_t next_tokens(ActiveRequest& request, int64_t room);
  Extension next_prompt_piece(ActiveRequest& request, int64_t room, int64_t rows);
  static Extension writing_piece(ActiveRequest& request);
  void choose_drafts();
  std::vector<int64_t> prompt_shares(int64_t room) const;
  std::vector<Extension> next_pass();
  void evict_finished(std::span<const Extension> pass);
  void keep_finished(Sequence ended);
  Logits run(std::span<const Extension> pass);
  Logits run(std::span<const Extension> pass, PassRecord* record);
  void hand_out(std::span<const Extension> pass, std::span<const float> logits);
  std::optional<PassRecord> wanted_record(std::span<const Extension> pass) const;
  ActiveRequest& request_of(const Extension& piece);
  int64_t known_tokens() const;
  void describe(std::span<const Extension> pass, PassRecord& record);
  static void prepare_masks(ActiveRequest& request);
  void report_progress(const ActiveRequest& request) const;
  void take_logits(ActiveRequest& request, std::span<const float> logits);
  void read_prompt_logits(ActiveRequest& request, std::span<const float> logits) const;
  static void report_prompt_tokens(const ActiveRequest& request, int64_t place, const LogitRows& rows);
  static bool wants_prompt_logits(const ActiveRequest& request);
  static void keep_for_check(ActiveRequest& request, const LogitRows& rows, std::span<const int32_t> path);
  void find_not_finite();
  void check_drafts();
  void end_completed();
  static void keep_in_history(const ActiveRequest& request, const Generation& written);
  void end(size_t index);

  const int64_t width_;
  Speculation speculation_;
  std::vector<Speculation::Text> writers_;  // of the pass, if it reads no prompt
  std::vector<ActiveRequest> active_;
  std::unique_ptr<sync::Worker> masks_;  // makes masks beside passes; null: no request has had a constraint
  std::deque<Sequence> finished_;        // kept for prompts that share a prefix; the least recently used comes first
};

Batcher::Batcher(Engine& engine, int64_t width) : state_(std::make_unique<State>(engine, width)) {}
Batcher::~Batcher() = default;

// A request only waits here. It is checked when its turn comes, and an error is then its own.
void Batcher::add(std::vector<int32_t> prompt, GenerateOptions options, OnEnd on_end) {
  state_->queue_.push_back({nullptr, std::move(prompt), std::move(options), std::move(on_end)});
}

void Batcher::add(Sequence& sequence, std::vector<int32_t> prompt, GenerateOptions options, OnEnd on_end) {
  state_->queue_.push_back({&sequence, std::move(prompt), std::move(options), std::move(on_end)});
}

int64_t Batcher::waiting() const { return std::ssize(state_->queue_); }
int64_t Batcher::active() const { return state_->active(); }
const Batcher::Totals& Batcher::totals() const { return state_->totals_; }
void Batcher::make_room(int64_t tokens) { state_->free_pages(pages_of(tokens) + 1); }
void Batcher::watch(PassWatch* watch) { state_->watch_ = watch; }

bool Batcher::step() {
  return state_->engine_.machine().orchestrator().run([this] { return state_->step(); });
}

// Admits requests, runs one pass of the active ones, and hands each request its logits. A request that is complete then
// ends. If the pass itself fails, all active requests end with its error.
bool Batcher::State::step() {
  end_completed();  // requests that an earlier step left, because an on_end threw
  admit();
  if (active_.empty()) return false;
  std::vector<Extension> pass;
  Logits of_pass;
  std::optional<PassRecord> record;
  try {
    pass = next_pass();
    evict_finished(pass);
    record = wanted_record(pass);
    const double start = now_seconds();
    of_pass = run(pass, record ? &*record : nullptr);
    const bool is_usual = !record || !record->has_steps;  // devices that record their steps may be slower
    if (!writers_.empty() && is_usual) speculation_.learn(writers_, now_seconds() - start);
  } catch (...) {
    for (ActiveRequest& request : active_) request.error = std::current_exception();
    end_completed();
    return true;
  }
  ++totals_.passes;
  totals_.pass_tokens += tokens_of(pass);
  const int64_t known = record ? known_tokens() : 0;
  hand_out(pass, of_pass);
  if (record) {
    record->written = known_tokens() - known;
    watch_->take(std::move(*record));
  }
  find_not_finite();
  check_drafts();
  for (ActiveRequest& request : active_)
    if (is_reading(request)) guard(request, [&request] { request.cut = request.continuation.is_interrupted(); });
  end_completed();
  return true;
}

// The progress of a prompt comes first, because a progress bar ends where the text begins.
void Batcher::State::hand_out(std::span<const Extension> pass, std::span<const float> logits) {
  for (const Extension& each : pass) guard(request_of(each), [&] { report_progress(request_of(each)); });
  for (const Extension& each : pass) {
    // Rows of logits stand in the order of the extensions, so each request takes the first of the rows that are left.
    if (each.logit_rows == 0) continue;
    const size_t values = static_cast<size_t>(each.logit_rows) * vocabulary();
    take_logits(request_of(each), logits.first(values));
    logits = logits.subspan(values);
  }
}

// The tokens that may come next are found while the pass runs, by a thread of its own. A draft that follows all others
// is known, too. An error there comes again where the mask is used, and is then the request's.
void Batcher::State::prepare_masks(ActiveRequest& request) {
  static const DraftTree kNone;
  const DraftTree& drafts = request.next && request.speculation ? request.speculation->drafts() : kNone;
  const std::span<const int32_t> chain = is_chain(drafts) ? std::span(drafts.ids) : std::span<const int32_t>();
  try {
    request.continuation.prepare(chain);
  } catch (...) {
  }
}

// A pass has few texts, so a search is enough.
Batcher::State::ActiveRequest& Batcher::State::request_of(const Extension& piece) {
  return *std::ranges::find(active_, piece.sequence, [](const ActiveRequest& one) { return &one.sequence(); });
}

// Asks the watcher before the pass what it wants to know, since steps cannot be recorded afterwards.
std::optional<PassRecord> Batcher::State::wanted_record(std::span<const Extension> pass) const {
  const auto detail = watch_ ? watch_->wanted(tokens_of(pass)) : PassWatch::Detail::nothing;
  if (detail == PassWatch::Detail::nothing) return std::nullopt;
  PassRecord record;
  record.has_steps = detail == PassWatch::Detail::steps;
  return record;
}

int64_t Batcher::State::known_tokens() const {
  int64_t known = 0;
  for (const ActiveRequest& request : active_) known += std::ssize(request.continuation.ids());
  return known;
}

// Before the pass: which texts share it, and where they stand.
void Batcher::State::describe(std::span<const Extension> pass, PassRecord& record) {
  for (const Extension& each : pass) {
    const ActiveRequest& request = request_of(each);
    record.texts.push_back({request.label, std::ssize(each.ids), each.sequence->position(), !request.next});
  }
}

// record: gets the pass; null: nobody wants it.
Logits Batcher::State::run(std::span<const Extension> pass, PassRecord* record) {
  if (!record) return run(pass);
  describe(pass, *record);
  StepRecorder steps(engine_.machine(), record->has_steps);
  record->start_seconds = now_seconds();
  Logits logits = run(pass);
  record->end_seconds = now_seconds();
  record->spans = steps.take();
  record->plan = engine_.plans().ran().last();
  record->pages = engine_.cache().all_pages();
  record->used_pages = record->pages - engine_.cache().free_pages();
  return logits;
}

// Masks of constrained texts are made beside the pass. They must be complete before the requests are touched again,
// also if the pass fails, so both ways wait for them.
Logits Batcher::State::run(std::span<const Extension> pass) {
  bool is_needed = false;
  for (const ActiveRequest& request : active_) is_needed = is_needed || request.continuation.has_constraint();
  if (!is_needed) return engine_.extend(pass);
  if (!masks_) masks_ = std::make_unique<sync::Worker>();
  for (ActiveRequest& request : active_)
    if (request.continuation.has_constraint()) masks_->push([&request] { prepare_masks(request); });
  const auto wait = [this] {
    while (!masks_->drain(std::chrono::seconds(1))) {
    }
  };
  try {
    Logits logits = engine_.extend(pass);
    wait();
    return logits;
  } catch (...) {
    wait();
    throw;
  }
}

// An exception of a request's own callbacks, or a lack of memory, becomes the request's error.
template <typename Work>
void Batcher::State::guard(ActiveRequest& request, const Work& work) {
  try {
    work();
  } catch (...) {
    request.error = std::current_exception();
  }
}

// A text has ended if nothing of it is left to run: no prompt and no token.
bool Batcher::State::is_complete(const ActiveRequest& request) {
  return request.error || request.cut || (!is_reading(request) && !request.next);
}

// From the last to the first, because ending a request removes it from the list.
void Batcher::State::end_completed() {
  for (size_t i = active_.size(); i-- > 0;)
    if (is_complete(active_[i])) end(i);
}

bool Batcher::State::is_reading(const ActiveRequest& request) {
  return request.sequence().position() < std::ssize(request.prompt);
}

// Whether an active request is still reading a prefix that this prompt shares. Waiting for it saves reading it twice.
bool Batcher::State::awaits_shared_prefix(const Request& next) const {
  const std::span<const int32_t> prompt = next.prompt;
  const int64_t half = std::ssize(prompt) / 2, worth_waiting = std::clamp<int64_t>(half, 2, 8);  // tokens
  if (next.sequence || next.options.on_prompt_token || prompt.empty() || engine_.contract().bits_depend_on_passes)
    return false;
  return std::ranges::any_of(active_, [&](const ActiveRequest& request) {
    const int64_t common = common_prefix(prompt.first(prompt.size() - 1), request.prompt);
    return !request.given && is_reading(request) && common >= request.sequence().position() + worth_waiting;
  });
}

// Requests begin in the order in which they came. One that waits for a shared prefix holds up all requests behind it. A
// request that cannot begin ends with its own error.
void Batcher::State::admit() {
  while (active() < width_ && !queue_.empty() && !awaits_shared_prefix(queue_.front())) {
    Request next = std::move(queue_.front());
    queue_.pop_front();
    try {
      active_.reserve(active_.size() + 1);  // nothing may throw once the request is active
      active_.push_back(begin(next));
    } catch (...) {
      next.on_end({{}, std::current_exception()});
    }
  }
}

// A request whose prompt fits. The caller's sequence must be a beginning of the prompt. The members of `next` are
// moved last, because the caller needs on_end after an exception.
Batcher::State::ActiveRequest Batcher::State::begin(Request& next) {
  TANDEM_CHECK(!next.prompt.empty(), "a prompt has at least one token");
  check_ids(next.prompt, 0, engine_.model().config().vocabulary, engine_.sizes().context);
  const int64_t given = next.sequence ? next.sequence->position() : 0;
  TANDEM_CHECK(given < std::ssize(next.prompt), "the last token of a prompt is run");
  TANDEM_CHECK(!next.sequence || common_prefix(next.sequence->ids(), next.prompt) == given,
               "a prompt begins with the tokens of its sequence");
  const bool is_own = next.sequence || next.options.on_prompt_token;
  Sequence own = is_own ? engine_.cache().new_sequence() : shared_beginning(next.prompt);
  const int64_t shared = own.position(), cached = given + shared;
  totals_.shared_tokens += shared;
  const SpecOptions& spec = next.options.spec;
  std::shared_ptr<TextHistory> history = spec.history;
  const bool history_of_prompts = spec.history_of_prompts, is_checked = spec.check;
  std::string refusal = speculation_.refusal(spec), label = next.options.label;
  std::unique_ptr<TextSpeculation> speculation = refusal.empty() ? speculation_of(next) : nullptr;
  std::function<void(const ChosenToken&)> on_prompt_token = next.options.on_prompt_token;
  const int64_t logprobs = next.options.logprobs;
  Continuation continuation(engine_.model().tokenizer(), next.prompt, std::move(next.options));
  ActiveRequest request{next.sequence,          std::move(own), std::move(next.prompt), std::move(continuation),
                        std::move(next.on_end), cached,         now_seconds(),          0.0,
                        std::move(label)};
  if (speculation && is_checked) request.check = std::make_unique<DraftCheck>(engine_);
  request.speculation = std::move(speculation);
  request.on_prompt_token = std::move(on_prompt_token);
  request.logprobs = logprobs;
  request.no_drafts_because = std::move(refusal);
  request.history = std::move(history);
  request.history_of_prompts = history_of_prompts;
  return request;
}

// Drafts must not go past the end of a text, so the search for drafts knows which tokens end it.
std::unique_ptr<TextSpeculation> Batcher::State::speculation_of(const Request& next) {
  IsEnd is_end;
  if (!next.options.ignore_end)
    is_end = [&tokenizer = engine_.model().tokenizer()](int32_t token) { return tokenizer.is_end(token); };
  auto speculation = std::make_unique<TextSpeculation>(engine_, next.options.spec, std::move(is_end));
  speculation->append(next.prompt);
  return speculation;
}

// The sequence with the longest shared prefix, or a new one. A text that has ended and that the prompt continues is
// taken itself. So no page of it is copied, and where pages cannot be copied, none of its tokens runs again. Any other
// sequence is forked. The last token of a prompt always runs, because its logits are needed.
Sequence Batcher::State::shared_beginning(std::span<const int32_t> prompt) {
  if (engine_.contract().bits_depend_on_passes) return engine_.cache().new_sequence();
  const std::span<const int32_t> shareable = prompt.first(prompt.size() - 1);
  const Sequence* best = nullptr;
  int64_t most = 0;
  const auto consider = [&](const Sequence& other) {
    const int64_t common = common_prefix(shareable, other.ids());
    if (common > most) best = &other, most = common;
  };
  for (const ActiveRequest& request : active_)
    if (!request.given) consider(request.own);
  for (const Sequence& other : finished_) consider(other);
  if (!best) return engine_.cache().new_sequence();
  const auto used = std::ranges::find(finished_, best, [](const Sequence& each) { return &each; });
  if (used != finished_.end() && most == best->position()) {
    Sequence continued = std::move(*used);
    finished_.erase(used);
    return continued;
  }
  Sequence shared = engine_.cache().fork(*best, most);
  if (used != finished_.end()) std::rotate(used, used + 1, finished_.end());
  return shared;
}

// A text that begins like a longer one is not kept: the longer one has all that it can share.
void Batcher::State::keep_finished(Sequence ended) {
  const auto begins = [](const Sequence& whole, const Sequence& part) {
    return common_prefix(whole.ids(), part.ids()) == part.position();
  };
  if (std::ranges::any_of(finished_, [&](const Sequence& other) { return begins(other, ended); })) return;
  std::erase_if(finished_, [&](const Sequence& other) { return begins(ended, other); });
  finished_.push_back(std::move(ended));
}

// Frees pages of finished requests for the pass. Each extension may need one page more, for a copy of a shared page.
void Batcher::State::evict_finished(std::span<const Extension> pass) {
  int64_t pages = 0;
  for (const Extension& each : pass) pages += pages_of(std::ssize(each.ids)) + 1;
  free_pages(pages);
}

void Batcher::State::free_pages(int64_t pages) {
  while (!finished_.empty() && engine_.cache().free_pages() < pages) finished_.pop_front();
}

// The tokens of a prompt for the next pass. A prompt that is alone is cut into the chunks of extend(). Beside other
// texts it takes its share of the room, and the rest is cut anew.
int64_t Batcher::State::next_tokens(ActiveRequest& request, int64_t room) {
  const int64_t position = request.sequence().position(), rest = std::ssize(request.prompt) - position;
  if (active() > 1) {
    request.chunks.clear();
    return std::min(rest, room);
  }
  if (request.chunks.empty())
    for (const Batch& chunk : engine_.plans().chunks_of(position, rest)) request.chunks.push_back(chunk.S);
  const int64_t tokens = request.chunks.front();
  request.chunks.pop_front();
  return tokens;
}

// A pass that reads a prompt takes long, whatever the drafts. So drafts run only in passes without prompts.
void Batcher::State::choose_drafts() {
  writers_.clear();
  if (std::ranges::any_of(active_, [](const ActiveRequest& request) { return !request.next; })) return;
  for (const ActiveRequest& request : active_) {
    const int64_t position = request.sequence().position();
    const int64_t room = std::min(engine_.sizes().context - position, request.continuation.most_left()) - 1;
    writers_.push_back({request.speculation.get(), position, room});
  }
  const ActivationSizes& sizes = engine_.sizes();
  const int64_t most_runs = sizes.tree_depth > 0 ? sizes.segments : sizes.tokens;  // each token of a tree is a run
  speculation_.choose(writers_, std::min({sizes.logit_rows, sizes.tokens, most_runs}));
}

// S4: the newest token and its drafts. The newest token is the root of a tree.
Extension Batcher::State::writing_piece(ActiveRequest& request) {
  request.pass_ids = {*request.next};
  if (request.speculation) {
    const DraftTree& drafts = request.speculation->drafts();
    request.pass_ids.insert(request.pass_ids.end(), drafts.ids.begin(), drafts.ids.end());
    request.pass_parents = parents_of_pass(drafts);
  }
  return {&request.sequence(), request.pass_ids, std::ssize(request.pass_ids), request.pass_parents};
}

bool Batcher::State::wants_prompt_logits(const ActiveRequest& request) {
  return request.on_prompt_token || (request.speculation && request.speculation->calibrates());
}

// The next tokens of a prompt. Only the last one gets logits, or all that have a row where they calibrate drafts (S2)
// or the caller wants their probabilities.
Extension Batcher::State::next_prompt_piece(ActiveRequest& request, int64_t room, int64_t rows) {
  const auto rest = std::span(request.prompt).subspan(static_cast<size_t>(request.sequence().position()));
  if (wants_prompt_logits(request) && rows > 0) {
    const int64_t some = std::min({room, rows, std::ssize(rest)});
    return {&request.sequence(), rest.first(static_cast<size_t>(some)), some};
  }
  const int64_t some = next_tokens(request, room);
  return {&request.sequence(), rest.first(static_cast<size_t>(some)), some == std::ssize(rest) ? 1 : 0};
}

// The share of each prompt that is being read, in the order of the requests. A prompt that waits for nobody has all.
std::vector<int64_t> Batcher::State::prompt_shares(int64_t room) const {
  std::vector<int64_t> rests;
  for (const ActiveRequest& request : active_)
    if (!request.next) rests.push_back(std::ssize(request.prompt) - request.sequence().position());
  return share_room(rests, room);
}

// Requests that write come first, with one token each and its drafts, so a long prompt does not stop their texts.
// Prompts share the room that is left. Each of them keeps a row of logits.
std::vector<Extension> Batcher::State::next_pass() {
  std::vector<Extension> pass;
  int64_t room = engine_.sizes().tokens, rows = engine_.sizes().logit_rows;
  const auto add = [&](const Extension& piece) {
    room -= std::ssize(piece.ids);
    rows -= std::max<int64_t>(piece.logit_rows, 1);
    pass.push_back(piece);
  };
  choose_drafts();
  for (ActiveRequest& request : active_)
    if (request.next && room > 0) add(writing_piece(request));
  const std::vector<int64_t> shares = prompt_shares(room);
  auto share = shares.begin();
  int64_t readers = std::ssize(shares);
  for (ActiveRequest& request : active_) {
    if (request.next) continue;
    --readers;
    if (const int64_t own = *share++; own > 0) add(next_prompt_piece(request, own, rows - readers));
  }
  return pass;
}

// S4. The last row of a prompt, or those of the newest token and its drafts. A chain of drafts was appended to the
// sequence, a tree was not.
void Batcher::State::take_logits(ActiveRequest& request, std::span<const float> logits) {
  if (request.error) return;
  const bool wrote = request.next.has_value();
  if (!wrote) read_prompt_logits(request, logits);
  if (is_reading(request)) return;
  if (request.first_logits == 0)
    request.first_logits = now_seconds();
  else
    ++request.passes;
  static const DraftTree kNoDrafts;
  TextSpeculation* const speculation = request.speculation.get();
  const DraftTree& drafts = wrote && speculation ? speculation->drafts() : kNoDrafts;
  const LogitRows rows = rows_of(logits.last((drafts.ids.size() + 1) * vocabulary()));
  int64_t position = request.sequence().position() - (is_chain(drafts) ? std::ssize(drafts.ids) : -1);
  const size_t known = request.continuation.ids().size();
  std::vector<int32_t> path;
  request.next.reset();
  const auto choose = [&](std::span<const float> row) {
    return request.next = request.continuation.next(row, position++ < engine_.sizes().context);
  };
  guard(request, [&] { path = accept_drafts(drafts, rows, choose); });
  guard(request, [&] { keep_path(engine_.cache(), request.sequence(), drafts, path); });
  if (request.check)
    guard(request, [&] { wrote ? keep_for_check(request, rows, path) : request.check->begin(request.sequence()); });
  if (!speculation) return;
  guard(request, [&] {
    const auto got = request.continuation.ids().subspan(known);
    const std::vector<int32_t> kept = drafts_among(drafts, got);
    std::vector<int32_t> choices;
    if (!drafts.ids.empty()) choices = choices_along(speculation->judged_chain(kept), got, rows);
    if (wrote) speculation->take_verdict(kept, choices);
    speculation->append(got);
  });
}

// The logits of a piece of the prompt, which has run.
void Batcher::State::read_prompt_logits(ActiveRequest& request, std::span<const float> logits) const {
  if (!wants_prompt_logits(request)) return;
  const int64_t place = request.sequence().position() - static_cast<int64_t>(logits.size() / vocabulary());
  if (request.on_prompt_token) guard(request, [&] { report_prompt_tokens(request, place, rows_of(logits)); });
  if (request.speculation && request.speculation->calibrates())  // S2
    guard(request, [&] { request.speculation->calibrate(place, logits, vocabulary()); });
}

// Row i of the piece, which begins at `place`, is about the token behind token i.
void Batcher::State::report_prompt_tokens(const ActiveRequest& request, int64_t place, const LogitRows& rows) {
  if (place == 0) request.on_prompt_token({request.prompt.front()});
  const int64_t end = std::min(request.sequence().position() + 1, std::ssize(request.prompt));
  for (int64_t at = place + 1; at < end; ++at) {
    const int32_t id = request.prompt[static_cast<size_t>(at)];
    const ChosenToken plain{id};
    const bool has_logprob = request.logprobs >= 0 && id < std::ssize(rows[at - 1 - place]);
    request.on_prompt_token(has_logprob ? with_logprobs(rows[at - 1 - place], id, request.logprobs) : plain);
  }
}

void Batcher::State::keep_for_check(ActiveRequest& request, const LogitRows& rows, std::span<const int32_t> path) {
  request.check->add(request.pass_ids.front(), rows[0]);
  for (const int32_t draft : path)
    request.check->add(request.pass_ids[static_cast<size_t>(draft) + 1], rows[draft + 1]);
}

// Tells the caller how much of a prompt of several chunks has run.
void Batcher::State::report_progress(const ActiveRequest& request) const {
  const int64_t total = std::ssize(request.prompt) - request.cached_prefix_tokens,
                done = request.sequence().position() - request.cached_prefix_tokens;
  if (total > engine_.sizes().tokens && done <= total) request.continuation.report_prompt(done, total);
}

// Called before any request of the pass ends: the search runs the pass again, with the pages that it had.
void Batcher::State::find_not_finite() {
  for (ActiveRequest& request : active_) {
    if (is_reading(request) || request.next || request.continuation.reason() != StopReason::not_finite) continue;
    guard(request,
          [&] { request.error = std::make_exception_ptr(engine_.not_finite(request.sequence().position() - 1)); });
  }
}

// The checks run passes of their own, so they come when nothing needs the logits of the texts' pass. A check takes two
// pages at most: a new one, and a copy of one that it shares.
void Batcher::State::check_drafts() {
  for (ActiveRequest& request : active_) {
    if (!request.check || request.error) continue;
    while (!finished_.empty() && engine_.cache().free_pages() < 2) finished_.pop_front();
    guard(request, [&] { request.check->run(); });
  }
}

// A text that was interrupted is not what the model would have written.
void Batcher::State::keep_in_history(const ActiveRequest& request, const Generation& written) {
  if (!request.history || written.reason == StopReason::interrupted) return;
  if (!request.history_of_prompts) return request.history->add(written.ids);
  std::vector<int32_t> text = request.prompt;
  text.insert(text.end(), written.ids.begin(), written.ids.end());
  request.history->add(text);
}

// The sequence stays among the finished ones, so that a later prompt can share its prefix. A sequence with logits that
// are not finite may have bad keys and values, and is not shared. A caller's sequence stays with the caller.
void Batcher::State::end(size_t index) {
  ActiveRequest request = std::move(active_[index]);
  active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(index));
  if (request.cut) request.continuation.interrupt();
  const bool can_be_shared = !request.given && request.continuation.reason() != StopReason::not_finite;
  Result result;
  guard(request,
        [&] { result.generation = request.error ? request.continuation.abandon() : request.continuation.finish(); });
  const double now = now_seconds();
  result.generation.cached_prefix_tokens = request.cached_prefix_tokens;
  result.generation.prompt_seconds = (request.first_logits > 0 ? request.first_logits : now) - request.began;
  if (request.first_logits > 0) result.generation.predicted_seconds = now - request.first_logits;
  result.generation.predicted_passes = request.passes;
  if (request.speculation) result.generation.drafts = request.speculation->totals();
  if (request.check) result.generation.drafts.checked = request.check->checked();
  result.generation.drafts.why_none = request.no_drafts_because;
  if (!request.error) guard(request, [&] { keep_in_history(request, result.generation); });
  if (can_be_shared) guard(request, [&] { keep_finished(std::move(request.own)); });
  result.error = request.error;
  request.on_end(std::move(result));
}

}  // namespace tandem
