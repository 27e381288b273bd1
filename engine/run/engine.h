// A model's texts on a machine: tokens in, logits out.
//
// Contract
//   Texts: a text is a run of tokens whose keys and values are in the KV cache. An engine has one text of its own, the
//   context. It can run further texts, the sequences (engine/run/cache/sequence.h), with tokens of up to
//   TextOptions::sequences in one pass.
//   Passes: extend() appends tokens to a text and returns logits. Tokens of the context run in chunks of at most
//   chunk() tokens, and each chunk is one pass through all layers. Sequences share passes, so the weights are read once
//   for all of them.
//   Going back: rewind() removes tokens from the end of the context, and resume() brings them back.
//   Opening: open() opens the devices and loads the model. The constructor takes a loaded model, so several engines may
//   share a machine. One of them may draft while another one verifies, for example. Each engine computes the same bits
//   as it would alone.
//   Bits: a sequence's logits have the same bits whichever texts share its passes, if bits_depend_on_passes() is false.
//   Results: logits are f32 [n, vocabulary] in the shared pool. They are valid until the engine's next call.
//   Errors: tokens that do not fit the context are an Error before anything runs. If a device fails in the middle of a
//   prompt, or an interrupt ends it, the context keeps the chunks that ran before.
//   Threads: one thread, the orchestrator's, makes all calls for all engines of a machine. open() pins it to the core
//   that the layout gives it (engine/run/pass/core_layout.h), unless there is only one core.
//   Ownership: an engine owns its plans, its activations and its cache. It shares the model, and through it
//   the machine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/graph/activations.h"
#include "engine/graph/decoder.h"
#include "engine/plan/strategy.h"
#include "engine/run/cache/extension.h"
#include "engine/run/cache/sequence.h"
#include "engine/run/cache/text_cache.h"
#include "engine/run/choice/expert_use.h"
#include "engine/run/machine/engine_options.h"
#include "engine/run/machine/loaded_model.h"
#include "engine/run/machine/machine.h"
#include "engine/run/pass_plans.h"
#include "sync/error.h"

namespace tandem {

class Engine : DeviceUser {
 public:
  // An engine with its own machine and its own model.
  static std::unique_ptr<Engine> open(const EngineOptions& options);
  Engine(std::shared_ptr<LoadedModel> model, const TextOptions& options);
  ~Engine() override;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Appends tokens to the context. Returns the last token's logits, [vocabulary].
  std::span<const float> extend(std::span<const int32_t> ids);
  // Appends tokens to the context and calls `sink` after each pass with the logits of all its tokens, [n, vocabulary].
  // first: the index in ids of the pass's first token.
  using LogitsSink = std::function<void(int64_t first, std::span<const float> logits)>;
  void extend_all(std::span<const int32_t> ids, const LogitsSink& sink);

  // An empty sequence, for many texts at once. It may outlive its engine, but is of no use then.
  Sequence new_sequence() { return cache_->new_sequence(); }
  // A sequence that begins with the first `most` tokens of another one. On devices that keep the cache in memory of
  // their own, no part of a page can be copied. There the fork has the tokens of whole pages only.
  Sequence fork(const Sequence& from, int64_t most) const { return cache_->fork(from, most); }
  using Extension = tandem::Extension;
  // Appends to each of these sequences in one pass. Returns logits [logit_rows, vocabulary], in the order of the
  // extensions and of their tokens. Errors before anything runs:
  //   - A sequence stands in the list twice, its context is full, or the cache has no free page.
  //   - There are more sequences than TextOptions::sequences, or more tokens in all than chunk().
  //   - More tokens want logits than the larger one of TextOptions::logit_rows and TextOptions::sequences.
  //   - There are more runs of tokens than a pass has segments. Each token of a tree is one run. Another sequence has
  //     two runs if a part of its tokens gets logits, else one.
  //   - The parents make no tree, or a device keeps the cache in memory of its own and there is a tree.
  // After a device's Error each sequence has the tokens that it had, but no tree.
  // A tree's tokens lie behind the text, each at a place of its own, so the context must have room for all of
  // them. Each token gets the bits that it would have behind its ancestors in a text. The sequence's position does
  // not change.
  std::span<const float> extend(std::span<const Extension> extensions);
  // Appends the tokens of a path of the sequence's tree, and drops the rest of the tree. path: indices in the tree. The
  // first token follows the text, and each further one is a child of the one before. Keys and values of these tokens
  // are in the cache already. An empty path appends nothing. Error: there is no tree, or it has no such path.
  void accept(Sequence& sequence, std::span<const int32_t> path) { cache_->accept(sequence, path); }

  // Throws the Error of not_finite() if logits of the last pass are not finite. logits: [n, vocabulary]. first: the
  // position of their first token.
  void require_finite(std::span<const float> logits, int64_t first);
  // Returns the Error for logits that are not finite at the token at `position`. To find out where in the last pass
  // such numbers begin, it runs the pass's operators again one by one. This overwrites the logits.
  Error not_finite(int64_t position);

  // Error if there are no tokens, if one is not in the vocabulary, or if they do not fit the context behind
  // `position` tokens.
  void check_fits(std::span<const int32_t> ids, int64_t position) const;
  // Pages of the cache that no sequence uses; a page has kCachePage positions.
  int64_t free_pages() const { return cache_->free_pages(); }

  std::vector<RoutedLayer> routing() const;  // of the last pass; empty: the model has no experts, or nothing ran
  const ExpertUse& expert_use() const { return *expert_use_; }
  void rewind(int64_t position);  // 0: removes all tokens
  // Undoes rewind(): moves the end of the context to any position that it has reached since open() or load_state().
  // Keys and values at each position are those of the token that was appended there last.
  void resume(int64_t position);
  // Saves the context, or a sequence, to a file (engine/run/cache/saved_state.h). ids: the tokens of the context.
  // Loading replaces the context by the file's text and returns its tokens, or returns a new sequence. A file that is
  // refused leaves the context as it was. Error if a device keeps the cache in memory of its own.
  void save_state(const std::string& path, std::span<const int32_t> ids) const;
  std::vector<int32_t> load_state(const std::string& path);
  void save_state(const std::string& path, const Sequence& sequence) const;
  Sequence load_sequence(const std::string& path);
  // Prepares the plans that extend() will need for the next `tokens` tokens, and compiles their kernels. then_single:
  // also the plan for single tokens behind them. The position does not change, not even after an Error.
  void prewarm(int64_t tokens, bool then_single = false);

  int64_t position() const { return position_; }
  int64_t context() const { return activations_->sizes.context; }
  int64_t chunk() const { return activations_->sizes.tokens; }  // most tokens of one pass
  LoadedModel& model() const { return *model_; }
  Machine& machine() const { return *machine_; }
  const ModelConfig& config() const { return model_->config(); }
  const Tokenizer& tokenizer() const { return model_->tokenizer(); }
  size_t activation_bytes() const { return activations_->bytes(); }  // buffers that all layers reuse (H10)
  size_t cache_bytes() const { return cache_->bytes(); }             // keys and values of one full context

  const std::string& plan_asked() const { return options_.plan; }
  // The plan that the user asked for, with the plans that ran if they differ: "tensor", "auto: prefill sequence,
  // decode rows".
  std::string plan_name() const { return describe_plans(plan_asked(), plans_ran()); }
  std::span<const PlanRan> plans_ran() const { return plans_->ran().list(); }  // since open() or forget_plans_ran()
  void forget_plans_ran() { plans_->ran().clear(); }
  ActType act() const { return *options_.act; }
  std::vector<std::string> diagnostics() const;  // texts for users: fallbacks and choices of the machine and of plans
  // Why other plans, on other devices, may give other bits (engine/run/choice/contract.h); empty: they give the same.
  const std::vector<std::string>& other_bits() const { return other_bits_; }
  // Whether a token's bits may depend on the other tokens of its pass.
  bool bits_depend_on_passes() const;
  // The next chunk when the context grows by `total` tokens, the first `first` of which have run
  // (engine/plan/partition/chunk_cutting.h). Error if no chunk begins there.
  Batch next_chunk(int64_t first, int64_t total);
  // The plan that would run now for this batch, and the costs of its operators on the devices.
  Plan plan_for(const Batch& batch) { return plan_for(batch, position_); }
  // The same for a batch behind `position` tokens, whatever is in the context. Nothing runs.
  Plan plan_for(const Batch& batch, int64_t position) { return plans_->planner().plan_for(batch, position); }
  // Predicted costs of operators in a pass behind `position` tokens.
  PlanCosts costs_at(int64_t position) { return plans_->planner().costs(position); }

  // Prepared plans: the last twelve, one for each kind of pass. For tests: only this number and the time show that a
  // plan is used again.
  size_t plans_kept() const { return plans_->size(); }

  // The operators of a batch, for measurements (engine/measure/profiler.h). Running them overwrites activations.
  std::vector<Operator> operators_for(const Batch& batch) const { return plans_->operators_for(batch); }
  // Graphs that the NPU compiled in all passes so far, because it had none for their number of tokens. Only the plan
  // `online` needs them.
  const GraphCompiles& online_compiles() const { return plans_->online_compiles(); }

  // Makes all kernels that a GPU needs for a pass of `tokens` tokens, whatever its plan, and compiles missing ones.
  void prepare_kernels(int64_t tokens);

  // Called between two chunks of a prompt, and while a FIFO that save_state() writes has no reader. If it returns true,
  // the call throws Interrupted.
  std::function<bool()> interrupted;
  // Called after each chunk of a prompt that needs several: `done` of its `total` tokens have run.
  std::function<void(int64_t done, int64_t total)> prefill_progress;

  struct Interrupted : std::exception {
    const char* what() const noexcept override { return "interrupted"; }
  };

 private:
  bool accepts(std::span<const DeviceInfo* const> devices) const override;
  bool has_text() const override { return position_ > 0 || cache_->has_sequences(); }
  void release_prepared() noexcept override { plans_->release(); }
  void rebuild() override;
  std::vector<std::string> find_other_bits() const;
  PassLimits limits() const;
  void pass(std::span<const int32_t> ids, const Batch& batch);
  void run_batch(PassPlans::Entry& entry, std::span<const int32_t> ids, int64_t position);

  const std::shared_ptr<LoadedModel> model_;
  const std::shared_ptr<Machine> machine_;  // the model's
  TextOptions options_;
  const Strategy* const asked_;  // nullptr: `auto`
  std::unique_ptr<Activations> activations_;
  std::unique_ptr<TextCache> cache_;
  std::unique_ptr<ExpertUse> expert_use_;
  std::unique_ptr<PassPlans> plans_;
  Batch last_batch_{0, 0};
  std::vector<std::string> diagnostics_, other_bits_;
  int64_t position_ = 0;
  int64_t cached_end_ = 0;  // the cache has keys and values of the positions below this (resume())
};

}  // namespace tandem
