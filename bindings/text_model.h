// A model that texts are written with, for programs in other languages: what the bindings of C and Python share.
//
// Contract
//   Threads: any thread may call any function. Texts of several threads share passes (TextService), and other work runs
//   between two passes, on one thread. So a call may wait for the pass that runs.
//   Callbacks run on the machine's thread. A call out of a callback is a UsageError, because it would wait for itself.
//   Processes: a call in a child of fork() is a UsageError, because threads and devices stay in the parent.
//   Ownership: sequences share the model. The last owner closes it, and close() does so earlier. Later calls are a
//   UsageError.
//   Errors: FileError, DeviceError, ContextError and UsageError where the kind is known; else Error.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/failure.h"
#include "engine/model/chat_template/model_chat.h"
#include "engine/plan/own_plan.h"
#include "engine/run/pass/timeline.h"
#include "tandem/constraint.h"
#include "tandem/generate.h"

namespace tandem::bindings {

// Devices that several models share. Null: a model has devices of its own.
using SharedMachine = std::shared_ptr<Machine>;
SharedMachine open_machine(const std::vector<std::string>& devices, int threads);

struct LoadOptions {
  std::string path;
  std::vector<std::string> devices;            // empty: those that the plan needs
  std::string plan = "auto", act, cache_type;  // act, cache_type: "" as the program's default
  int64_t context = 0;                         // 0: as for TextOptions
  int64_t parallel = 4;                        // texts that share a pass
  int64_t logit_rows = 0;                      // of a pass; 0: enough for drafts
  int threads = 0;
  // Y6, as the flags of these names: "" and "auto", "25%", "2GiB"; a host_budget without a unit counts GiB. They limit
  // the memory for experts, and the others are read from the packed file (docs/large_models.md).
  std::string expert_budget, host_budget;
  bool expert_copies = false;  // Y6: experts are copied into slots, which expert_budget counts
  std::string expert_policy;   // Y4, with copies: which expert leaves a slot; "" as the program's default
  std::string packed;          // a file of `tandem pack`; "": none
  std::vector<double> split;   // shares of the plan's cuts, as --split; empty: measured
  int64_t chunk = 0;           // most tokens of a pass; 0: the default
  // Drafts (docs/sdnpu.md). draft_model: a smaller model of the same vocabulary. history: a file of earlier texts,
  // which gets those of this model too. "": none.
  std::string draft_model, history;
  SharedMachine machine;  // not null: UsageError for `devices`, `threads` or `expert_copies` of the model's own
};

// UsageError: a number of the sampler's is out of its range, or is none.
void require_sound(const SamplerOptions& options);

// "auto", "sdnpu", "pld", "sam", "none"; UsageError: another name.
SpecMode spec_mode_of(const std::string& name);
void require_drafts(int64_t draft_max);  // UsageError: no number of drafts of a pass

// How a call waits for its work.
struct Patience {
  std::function<bool()> is_over{};  // asked between passes, on another thread; true: the work ends with Interrupted
  std::function<void()> look{};     // called on the waiting thread every few hundredths of a second; must not throw
};

// Logits that stay as they are, [rows, vocabulary], while `memory` lives.
struct KeptLogits {
  std::span<const float> values{};
  std::shared_ptr<const void> memory{};
  bool in_place = false;  // in the buffer that the pass wrote; else the values were copied
};
KeptLogits keep(Engine& engine, Logits logits);
KeptLogits keep(std::vector<float> values);

// The form that a text keeps. At most one member is set.
struct Form {
  std::string json_schema, grammar;
  bool json_object = false;
};

class TextModel {
 public:
  static std::shared_ptr<TextModel> load(const LoadOptions& options);
  TextModel(std::unique_ptr<Engine> engine, int64_t parallel, std::string path);
  ~TextModel();
  TextModel(const TextModel&) = delete;
  TextModel& operator=(const TextModel&) = delete;

  // Ends all texts and frees the model. Sequences stay, and are of no use. In a child of fork() it does nothing.
  void close();
  bool is_closed() const;
  bool is_here() const;       // false: this is a child of the process that loaded the model
  void require_here() const;  // UsageError in such a child

  const std::string& path() const { return path_; }
  int64_t vocabulary() const { return vocabulary_; }
  int64_t context() const { return context_; }
  int64_t parallel() const { return parallel_; }

  std::vector<int32_t> ids(std::string_view text, bool with_start, bool parse_special) const;
  // The prompt of a text that is continued, as the program makes it; never empty.
  std::vector<int32_t> prompt(std::string_view text) const;
  std::string text(std::span<const int32_t> ids, bool special) const;
  int32_t end_id() const { return end_id_; }  // -1: none
  // The prompt of a conversation, as the server makes it (engine/serve/openai/rendering.h): a list of messages, or an
  // object with `messages`, `tools` and the other keys of chat::Conversation::read(). stops: texts that end the answer.
  // UsageError: it has tools, and the template knows none.
  std::vector<int32_t> chat_prompt(std::string_view json, std::vector<std::string>* stops) const;
  // The calls of functions in an answer, as JSON: a list of {"name", "arguments"} in their order, with arguments as
  // the model spelt them. tools: those that the conversation offered, as JSON.
  std::string calls_of(std::string_view answer, std::string_view tools) const;
  std::vector<std::string> chat_stops() const;  // texts that end an answer; UsageError: no template
  std::shared_ptr<const Constraint> constraint(const Form& form) const;  // null: no form was asked for

  // A text among others. on_end: as for TextService::ask(). sequence: null, or one that lives until on_end. UsageError:
  // a stop text is empty.
  TextTicket start(std::vector<int32_t> prompt, GenerateOptions options, Sequence* sequence,
                   std::function<void(Batcher::Result)> on_end);
  // Waits for the text. Throws the error of a text that failed.
  Generation write(std::vector<int32_t> prompt, GenerateOptions options, Sequence* sequence);
  // Runs work between two passes, and waits for it. tokens: that the work appends to sequences. Pages of finished texts
  // are freed for them; 0: none are needed.
  void between_passes(const std::function<void(Engine& engine)>& work, const std::function<void()>& look = {},
                      int64_t tokens = 0) const;
  // The same without waiting. The work must not throw.
  void post(std::function<void(Engine& engine)> work) const;
  // UsageError: an id is no token. ContextError: so many tokens behind `position` do not fit, which is checked first.
  void require_ids(std::span<const int32_t> ids, int64_t position) const;
  void require_tokens(std::span<const int32_t> ids) const;  // UsageError: an id is no token

  // Logits of every token in a text of its own, [ids, vocabulary]. The logits of several passes
  // are copied into one piece.
  KeptLogits eval(std::span<const int32_t> ids, const Patience& patience) const;
  double perplexity(std::span<const int32_t> ids, const Patience& patience) const;

  // A vector for each text, [texts, width()], as `tandem embed` makes them. pooling: "mean", "cls", "last"; "": the
  // file's. normed: vectors have the length 1. The first call gives a model that writes texts an engine for vectors,
  // which shares its weights.
  std::vector<float> embed(std::span<const std::vector<int32_t>> texts, const std::string& pooling, bool normed,
                           const Patience& patience) const;
  int64_t width() const { return width_; }  // of a vector
  void require_writer() const;              // UsageError: the model is an encoder, which writes no text

  // Later passes have plans of this function; empty: those of the plan that was loaded (PassPlans::plan_by()). It runs
  // on the machine's thread.
  void plan_by(OwnPlanner planner);

  // Records what the devices do in passes from now on, until stop_trace(). UsageError: it is recorded already, or not.
  void start_trace();
  Timeline stop_trace();

 private:
  void open_drafts(const std::string& draft_model, const std::string& history);
  struct Open;
  std::shared_ptr<Open> open() const;
  void all_logits(std::span<const int32_t> ids, const LogitsSink& sink, const Patience& patience) const;

  const std::string path_;
  const pid_t process_;
  int64_t vocabulary_ = 0, context_ = 0, width_ = 0;
  int64_t pass_logits_ = 0;  // most tokens of a pass that gives logits of all
  const bool is_encoder_;
  const int64_t parallel_;
  int32_t end_id_ = -1;
  mutable std::mutex mutex_;    // of open_
  std::shared_ptr<Open> open_;  // shared by running calls; null: closed
};

// A text's tokens in a model's cache.
//
// Contract: as for TextModel. A sequence that a text is written in takes no other call (UsageError).
class TextSequence {
 public:
  explicit TextSequence(std::shared_ptr<TextModel> model);
  TextSequence(std::shared_ptr<TextModel> model, Sequence sequence);
  ~TextSequence();
  TextSequence(const TextSequence&) = delete;
  TextSequence& operator=(const TextSequence&) = delete;

  const std::shared_ptr<TextModel>& model() const { return model_; }
  int64_t position() const;
  std::vector<int32_t> ids() const;
  // Appends tokens, and returns the last one's logits, [vocabulary]. last: of the extension before, or null. It is
  // emptied when this call has its turn, so that the pass may write there, and then shares the result.
  KeptLogits extend(std::span<const int32_t> ids, const Patience& patience, KeptLogits* last = nullptr);
  std::shared_ptr<TextSequence> fork(int64_t position) const;
  void rewind(int64_t position);
  void save(const std::string& path) const;
  static std::shared_ptr<TextSequence> load(std::shared_ptr<TextModel> model, const std::string& path);
  // A tree of drafts behind the text: logits of each, [ids, vocabulary].
  KeptLogits draft(std::span<const int32_t> ids, std::span<const int32_t> parents);
  void accept(std::span<const int32_t> path);
  // Continues with `prompt` behind the sequence's tokens.
  Generation write(std::span<const int32_t> prompt, GenerateOptions options);
  // The same without waiting, as TextModel::start(). The sequence must live until on_end is called.
  TextTicket start(std::span<const int32_t> prompt, GenerateOptions options,
                   std::function<void(Batcher::Result)> on_end);

 private:
  class Turn;
  void between(const std::function<void(Engine& engine, Sequence& sequence)>& work,
               const std::function<void()>& look = {}, int64_t tokens = 0) const;
  std::vector<int32_t> behind_own(std::span<const int32_t> prompt) const;
  const std::shared_ptr<TextModel> model_;
  mutable std::atomic<bool> is_busy_ = false;
  mutable Sequence sequence_;
};

// Marks the calling thread as one that runs a callback, while it lives.
class InCallback {
 public:
  InCallback();
  ~InCallback();
  InCallback(const InCallback&) = delete;
  InCallback& operator=(const InCallback&) = delete;
};
bool is_in_callback();
void require_no_callback();  // UsageError inside of one

}  // namespace tandem::bindings
