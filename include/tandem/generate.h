// Generates text: one prompt, many prompts that share passes, or prompts of several threads.
//
// Contract: text is handed over in whole UTF-8 characters, and never contains a part of a stop string. An interrupt
// ends generation after the current token, and the text so far stays. Callbacks belong to one request and
// end with it. An exception of a callback ends that request. Threads: as for Engine. The machine's thread calls the
// callbacks, so they must not wait for another thread that calls an engine of this machine.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tandem/engine.h"

namespace tandem {

class Constraint;
class DraftHistory;
class PassWatch;
class Tokenizer;

// How the next token is chosen from logits. The chain of steps: bias, penalties, temperature, top-k, top-p, min-p,
// draw. The result is the same for a seed on every machine.
struct SamplerOptions {
  float temperature = 0.0f;     // 0: greedy, the token with the largest logit
  int top_k = 40;               // 0: off
  float top_p = 0.95f;          // 1: off
  float min_p = 0.05f;          // 0: off
  float repeat_penalty = 1.0f;  // 1: off; applied to the last `repeat_last` tokens
  int repeat_last = 64;
  // Subtracted from the logits of tokens that the text has generated: once, and for each time. 0: off.
  float presence_penalty = 0.0f, frequency_penalty = 0.0f;
  std::vector<std::pair<int32_t, float>> logit_bias{};  // added to these tokens' logits
  uint64_t seed = 0;
};

// Speculative decoding: drafts of the next tokens, taken from what was read and written before, are verified in one
// pass (docs/sdnpu.md). Tokens and their bits are those of plain decoding.
//   automatic: as many drafts as pay by measured times of passes, often none. None where a token's bits depend on its
//   pass. sdnpu: the paper's whole system. It takes the prompt's logits for drafts, which makes the prompt longer, and
//   runs a tree of all drafts up to draft_max in each pass. pld, sam: the baselines of the paper. They draft whenever
//   something matches.
enum class SpecMode { none, automatic, pld, sam, sdnpu };
const char* to_string(SpecMode mode);  // "none", "auto", "pld", "sam", "sdnpu"

// Earlier texts that drafts continue: in memory alone, or in a file that outlives the process (docs/sdnpu.md).
//
// Contract: texts of one tokenizer may share a history. Threads: those of the engine's calls. A text that has ended is
// added by the engine that wrote it.
class TextHistory {
 public:
  TextHistory();
  // Reads the file; it need not exist. most_bytes: beyond it the oldest texts leave the file. Error: it cannot be read,
  // is something else, or has ids of another vocabulary.
  TextHistory(const std::string& path, const Tokenizer& tokenizer, int64_t most_bytes);
  ~TextHistory();
  TextHistory(const TextHistory&) = delete;
  TextHistory& operator=(const TextHistory&) = delete;

  void add(std::span<const int32_t> ids);
  // Why the last text could not be kept in the file, for users. Empty: it was kept, or there is no file.
  const std::string& problem() const;
  DraftHistory& records();  // for this project's own programs

 private:
  class State;
  const std::unique_ptr<State> state_;
};

// A smaller model, whose greedy choices are drafts of a larger one.
//
// Contract: both models have one vocabulary and one machine. Texts may share it: its engine has room for so many
// sequences, and takes one token of one text a pass. Threads: those of the larger engine's calls.
class DraftModel {
 public:
  // engine: of the smaller model. Error: its vocabulary or its machine is not the target's.
  DraftModel(std::unique_ptr<Engine> engine, const Engine& target);
  ~DraftModel();
  DraftModel(const DraftModel&) = delete;
  DraftModel& operator=(const DraftModel&) = delete;

  Engine& engine() const { return *engine_; }

 private:
  const std::unique_ptr<Engine> engine_;
};

struct SpecOptions {
  SpecMode mode = SpecMode::automatic;
  int64_t draft_max = 15;  // most drafts of a text in a pass, 0 to 63; TextOptions::logit_rows bounds them too
  // Texts that the answer may look like: an edit's old text, for example.
  std::vector<std::vector<int32_t>> predictions;
  std::shared_ptr<TextHistory> history;  // earlier outputs; this one is added when it has ended; null: none
  bool history_of_prompts = false;       // the prompt is added in front of the output
  std::shared_ptr<DraftModel> model;     // one more source of drafts; null: none. The baselines have no use for it
  // For measurements: parts of the paper's system beside the rule of the mode (docs/sdnpu.md). Nothing: both with the
  // mode sdnpu, S5 with automatic, none with the baselines.
  struct Parts {
    bool calibration = false;  // S2
    bool reuse = false;        // S5
  };
  std::optional<Parts> parts;
  // Runs each token of a text with drafts again alone. The text ends with an Error if a bit of its logits differs. It
  // takes the time of plain decoding in addition, and a context of the cache for each text (TextOptions::spare_texts).
  bool check = false;
};

// The use of a draft model for a text.
struct ModelTotals {
  int64_t passes = 0;         // of the draft model
  double seconds = 0;         // that they took, without those that read the prompt
  double prompt_seconds = 0;  // of the passes that read the prompt
  std::string problem;        // why the model was left out in the end; empty: it was not
};

// Why a pass has no drafts of a text.
enum class NoDrafts {
  no_match,   // nothing that could follow was found
  no_gain,    // drafts would not pay by the times of passes
  new_width,  // they would, but not the longer first pass of their width
  no_budget,  // earlier drafts lost time
  no_room,    // the text ends
  prompt,     // another text's prompt was read
};
const char* to_string(NoDrafts why);  // "no_match", "no_gain", "new_width", "no_budget", "no_room", "prompt"

// What drafts did for a text.
struct DraftTotals {
  int64_t passes = 0;       // with drafts
  int64_t tree_passes = 0;  // of these, with a tree of drafts
  int64_t drafts = 0;       // that ran
  int64_t accepted = 0;     // that the text kept, with one that ended it
  int64_t checked = 0;      // tokens that ran again alone (SpecOptions::check)
  int64_t runs = 0;         // S5: right stretches of rejected drafts, which later passes may have
  int64_t right_runs = 0;   // of these, with a first token that was right when they were offered
  struct Source {
    int64_t drafts = 0, accepted = 0;
  };
  std::map<std::string, Source> sources;     // the same by source: "context", "history", "prediction" ...
  std::map<int64_t, double> pass_seconds;    // the median time of the last passes, by their tokens
  ModelTotals model;                         // all zeros without one
  std::map<NoDrafts, int64_t> plain_passes;  // passes without drafts, by the reason
  std::string why_none;                      // why the text could have no drafts; empty: it could
};

// A generated token with its probability: the logarithm of the softmax of the model's own logits, whatever the sampler
// does with them.
struct LikelyToken {
  int32_t id = 0;
  float logprob = 0;
};
struct ChosenToken {
  int32_t id = 0;
  float logprob = 0;                  // 0 without GenerateOptions::logprobs
  std::vector<LikelyToken> likely{};  // the most likely tokens at its place, by falling probability
};

struct GenerateOptions {
  int64_t predict = 128;  // most tokens; < 0: until a stop or the context is full
  SamplerOptions sampler;
  std::vector<std::string> stop;  // stop strings; they are not part of the text
  bool ignore_end = false;        // continue after an end token
  bool print_special = false;     // special tokens are part of the text
  // For measurements: the tokens that the text gets, whatever its logits say. Behind them the sampler goes on.
  std::vector<int32_t> replayed;
  // The text satisfies it (tandem/constraint.h). Only tokens that may come next are drawn; logits of others count
  // as minus infinity. Null: anything.
  std::shared_ptr<const Constraint> constraint;
  SpecOptions spec;
  std::function<void()> on_ready;  // called when plans are made and nothing is printed yet; timing begins after it
  // Called with each piece of the text.
  std::function<void(std::string_view)> on_text;
  // Called with each token, an end token included, before the piece of text that it completes.
  std::function<void(const ChosenToken&)> on_token;
  // Called with each token of the prompt, in their order and before the first on_token. The first one has no
  // probability: 0, and nothing is likely. `logprobs` as below. The prompt is then read in pieces of at most
  // TextOptions::logit_rows tokens, and shares no pages with earlier ones. Tokens that a sequence already has
  // are left out.
  std::function<void(const ChosenToken&)> on_prompt_token{};
  // Takes the place of the sampler: chooses a token by the logits of its place, [vocabulary], which are a view for the
  // call. Under a constraint, logits of tokens that may not come are minus infinity. Empty: the sampler chooses.
  std::function<int32_t(std::span<const float> logits)> choose{};
  int64_t logprobs = -1;  // for on_token: so many most likely tokens at each place; 0: the chosen one alone; < 0: none
  // Called after each chunk of a prompt that needs several: `done` of `total` tokens have run.
  std::function<void(int64_t done, int64_t total)> on_prompt;
  // Called between tokens, and between chunks of the prompt. True ends the text.
  std::function<bool()> interrupted;
  std::string label{};  // names the text in records of passes (engine/run/serve/pass_watch.h)
};

// not_finite: a logit was infinite or no number. generate() and the Batcher turn this into an Error.
enum class StopReason { end_of_text, length, stop_string, context_full, interrupted, not_finite };
const char* to_string(StopReason reason);  // "eos", "length", "stop", "context_full", "interrupted", "not_finite"

struct Generation {
  std::vector<int32_t> ids;  // generated tokens, an end token included
  std::string text;
  StopReason reason = StopReason::length;
  int64_t prompt_tokens = 0;
  int64_t cached_prefix_tokens = 0;  // the part of prompt_tokens that did not run
  double prompt_seconds = 0;         // until the first logits
  double predicted_seconds = 0;      // after that
  int64_t predicted_passes = 0;      // passes after the prompt
  DraftTotals drafts;
};

// One request of a Batcher, whose plans and kernels are prepared before the clock starts.
// sequence: has the first tokens of the prompt, if any, which do not run again. Fewer than the prompt has. In the end
// it has all tokens that have run: every token but the last generated one. Errors are those of Engine::extend(), and
// one for logits that are not finite. Text that on_text has received by then stays.
Generation generate(Engine& engine, Sequence& sequence, std::span<const int32_t> prompt,
                    const GenerateOptions& options);
// The same in a new sequence.
Generation generate(Engine& engine, std::span<const int32_t> prompt, const GenerateOptions& options);

// Continuous batching: many requests share passes, so that the weights are read once for all of them.
//
// Method: every pass is a new batch of the requests that are active at that time (Orca: Yu et al., OSDI 2022). A
// request is admitted when there is room, and leaves when it ends. A pass has one token of each request that writes.
// Chunks of prompts share the rest of the pass: short ones do not wait for long ones (engine/run/serve/pass_room.h).
// Prefix sharing: a prompt that begins like the text of another request, active or finished, shares its pages.
//
// Contract: a request's ids are those of generate() for it alone, unless Engine::contract().bits_depend_on_passes.
//   A request whose prompt does not fit the context, or whose logits are not finite, ends with an Error of its own.
//   The other requests continue. A device's failure ends all active requests, and queued ones are tried afterwards.
//   An exception of a request's own callbacks (on_text, on_prompt, interrupted), or a lack of memory for it, is the
//   error of that request alone. Chunks: a prompt that is alone in a pass is cut as by extend().
//   Threads: one at a time. The machine's thread calls the callbacks. Ownership: borrows the engine.
class Batcher {
 public:
  // width: active requests at a time, at most TextOptions::sequences.
  Batcher(Engine& engine, int64_t width);
  ~Batcher();
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  struct Result {
    Generation generation;
    std::exception_ptr error;  // why there is no generation; null: there is one
  };
  using OnEnd = std::function<void(Result)>;
  // Queues a request. step() calls on_end once. An exception of on_end leaves step(). The other requests continue
  // with the next step().
  void add(std::vector<int32_t> prompt, GenerateOptions options, OnEnd on_end);
  // The same in a sequence of the caller's, which must live until on_end is called. It has the prompt's first tokens,
  // if any; fewer than the prompt has. The request shares no pages with other ones.
  void add(Sequence& sequence, std::vector<int32_t> prompt, GenerateOptions options, OnEnd on_end);

  int64_t waiting() const;  // not admitted yet
  int64_t active() const;
  bool step();  // one pass; false: there is no request
  // Frees pages of finished requests, which are kept for their prefixes, until so many tokens of a sequence fit. The
  // same is done in front of each pass. Called on the machine's or the service's thread, between two passes.
  void make_room(int64_t tokens);

  // Sums over all requests so far.
  struct Totals {
    int64_t passes = 0, pass_tokens = 0;
    int64_t shared_tokens = 0;  // prompt tokens whose pages came from other requests
  };
  const Totals& totals() const;
  void watch(PassWatch* watch);  // of the next passes; null: nobody watches. Borrowed

 private:
  class State;
  const std::unique_ptr<State> state_;
};

// A text that a service writes, or that waits for its turn. Copies are the same text.
class TextTicket {
 public:
  explicit TextTicket(std::shared_ptr<std::atomic<bool>> is_unwanted) : is_unwanted_(std::move(is_unwanted)) {}
  // Ends the text with the reason `interrupted`, after the present pass: also while it waits or its prompt is read.
  void cancel() const { *is_unwanted_ = true; }

 private:
  std::shared_ptr<std::atomic<bool>> is_unwanted_;
};

// Writes texts for callers on any thread. One thread runs the passes, and all requests share them. Clients take turns:
// of the waiting texts the next one is of the client that has the fewest in work, and that waited longest for a turn.
//
// Contract: any thread may call write() and ask(). While the service lives, only its own thread may call the engine.
// The future that write() returns gets the text, or the exception that ended the request: an Error, or what on_text
// threw. ask() calls on_end once, on the machine's thread or the service's; it must not throw. The destructor ends the
// texts that wait or are being written, with the reason `interrupted`. Ownership: borrows the engine.
class TextService {
 public:
  // width: active requests at a time, as for Batcher. most_waiting: of requests that wait for a turn.
  TextService(Engine& engine, int64_t width, int64_t most_waiting = std::numeric_limits<int64_t>::max());
  ~TextService();
  TextService(const TextService&) = delete;
  TextService& operator=(const TextService&) = delete;

  std::future<Generation> write(std::vector<int32_t> prompt, GenerateOptions options);

  struct Wish {
    std::vector<int32_t> prompt;
    GenerateOptions options;
    std::string client;  // whose text it is
    std::function<void(Batcher::Result)> on_end;
    Sequence* sequence =
        nullptr;  // as for Batcher::add(), which borrows it until on_end; null: the text has one of its own
  };
  // All of these texts, or nothing where the line has no room for them; on_end is not called then.
  std::optional<std::vector<TextTicket>> ask(std::vector<Wish> wishes);

  // Runs work that calls the engine on the service's thread, between two passes, and does not wait for it. The work
  // must not throw. False: the service was closed, and nothing runs.
  bool between_passes(std::function<void()> work);
  // As Batcher::make_room(). Only for work between two passes, before it extends a sequence of its own.
  void make_room(int64_t tokens);

  struct Load {
    int64_t waiting = 0, active = 0;
    Batcher::Totals totals{};
  };
  Load load() const;
  // Watches the next passes; null: nobody. Borrowed: the watch must outlive the service, or close().
  void watch_passes(PassWatch* watch);
  // Ends all texts, as the destructor does. Later requests are refused, or end at once.
  void close();

 private:
  class State;
  const std::unique_ptr<State> state_;
};

}  // namespace tandem
