// A model's texts on a machine: tokens in, logits out.
//
// Contract
//   open() opens devices and loads the model; made from a machine and a model, an engine shares them with others (a
//   model that drafts beside the one that verifies), and each of them has the bits it has alone. extend() appends
//   tokens to the context (in pieces of `chunk`) and gives logits; results lie in the shared pool and are valid until
//   the next call. A context that would overflow is an Error before anything runs. rewind() forgets tokens from the
//   end. Threads: one thread, the orchestrator's, which open() pins to the layout's core, for all engines of a machine.
//   Ownership: owns plans, activations and the cache; shares the model and, through it, the machine. Beside the
//   engine's own context there may be EngineOptions::sequences more texts (engine/run/sequence.h), whose tokens share
//   passes: their weights are read once for all of them. A sequence's logits have the same bits whoever shares its
//   passes, where bits_depend_on_passes() is false.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/graph/activations.h"
#include "engine/graph/decoder.h"
#include "engine/plan/strategy.h"
#include "engine/run/executor.h"
#include "engine/run/expert_use.h"
#include "engine/run/first_text.h"
#include "engine/run/loaded_model.h"
#include "engine/run/lru_cache.h"
#include "engine/run/machine.h"
#include "engine/run/planner.h"
#include "engine/run/plans_ran.h"
#include "engine/run/sequence.h"
#include "engine/run/test_hooks.h"
#include "engine/run/timeline.h"
#include "sync/error.h"

namespace tandem {

class SavedState;

inline constexpr int64_t kDefaultChunk = 256;   // tokens of a prompt that are computed at once
inline constexpr int64_t kMostSequences = 128;  // that may have tokens in one pass
// Passes of so many tokens are lists where there are to be sequences. Beyond that launching is a small part of a pass.
inline constexpr int64_t kListedTokens = 16;

// How the texts of one model are run.
struct TextOptions {
  bool strict_device = false;
  std::string plan = "auto";
  // Shares of rows, one for each device that cuts take part in (plan/strategy.h, row_cutters), or the NPU's alone;
  // empty: measured.
  std::vector<double> split;
  std::optional<ActType> act;  // activations at matmul inputs; nothing: f16 where the plan may use the NPU
  KvType kv_type = KvType::f16;
  int64_t context = 0;     // 0: what the model was trained with, at most 4096
  int64_t chunk = 0;       // prefill piece; 0: kDefaultChunk
  int64_t logit_rows = 1;  // most tokens of one piece that get logits
  // Texts that may have tokens in one pass, beside the engine's own context, at most kMostSequences; each may be as
  // long as the context.
  int64_t sequences = 0;
  // Tokens of the graphs that the NPU has, rising (H3): other lengths are cut or padded, but for the plan `online`.
  std::vector<int64_t> graph_tokens = {1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128, 256, 512, 1024};
  // H7: ahead (every GPU step is queued at once), follow (when the NPU has ended what it waits for), dominant (follow
  // for prompts, ahead for single tokens).
  Submit submit = Submit::ahead;
  ExpertRules experts;      // of plans that put experts on the NPU (NPUMoE)
  std::string calibration;  // file of `calibrate-moe`; empty: experts are counted while it runs
  // Where a GPU's kernels are not compiled yet: the program that does it in the background (engine/run/warming.h),
  // while texts are written without the GPU; it joins between two passes when they are there. Only where the engine
  // chooses the devices, and the plan. Empty: they are compiled here, when they are first needed.
  std::string warming_program;
  TextAsked first_text;  // what will be asked for, which says whether to wait for a card (engine/run/first_text.h)
  PlanHooks plan_hooks;
};

struct EngineOptions : MachineOptions, ModelOptions, TextOptions {};

class Engine : DeviceUser {
 public:
  // With a machine and a model of its own.
  static std::unique_ptr<Engine> open(const EngineOptions& options);
  Engine(std::shared_ptr<LoadedModel> model, const TextOptions& options);
  ~Engine() override;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Appends tokens; logits [vocabulary] of the last one.
  std::span<const float> extend(std::span<const int32_t> ids);
  // Appends tokens; hands over logits [n, vocabulary] of each piece, `first` being the index of its first token in ids.
  using LogitsSink = std::function<void(int64_t first, std::span<const float> logits)>;
  void extend_all(std::span<const int32_t> ids, const LogitsSink& sink);

  // Many texts at once. A sequence may outlive its engine, but is of no use then.
  Sequence new_sequence() { return Sequence(pages_); }
  // One that begins with the first `most` tokens of another, or with fewer where no part of a page can be copied: on
  // devices with memory of their own, whole pages alone are shared.
  Sequence fork(const Sequence& from, int64_t most) const;
  struct Extension {
    Sequence* sequence = nullptr;
    std::span<const int32_t> ids;
    int64_t logit_rows = 1;  // the last so many of them get logits
    // Makes a tree of drafts of the tokens, which then are not appended: of each its parent, by its index in ids, -1
    // for the sequence's last token; parents come before their children. kMostDrafts tokens, kMostTreeDepth in a path.
    std::span<const int32_t> parents{};
  };
  // Appends to each of these sequences in one pass, together chunk() tokens at most; logits [logit_rows, vocabulary],
  // in the order of the extensions and their tokens. Error before anything runs: a sequence named twice, a context that
  // is full, more logit_rows than the engine was opened for (those of EngineOptions, or one for each sequence), parents
  // that make no tree, more runs of tokens than a pass has segments (a token of a tree is one, and each sequence one or
  // two), a tree on devices with memory of their own. After an error of a device all of them are as they were.
  //   A tree's tokens take places behind the text, one each, so all of them must fit the context. Each has the bits
  //   that
  // it has behind its ancestors in a text. The sequence stays where it is.
  std::span<const float> extend(std::span<const Extension> extensions);
  // Appends the tokens of a path of the sequence's tree, indices from one that follows the text on; the rest of the
  // tree is forgotten. Their keys and values are there already. An empty path appends nothing. Error: there is no tree,
  // or it has no such path.
  void accept(Sequence& sequence, std::span<const int32_t> path);

  // Error where logits [n, vocabulary] of the last pass are not finite, `first` being the position of their first
  // token.
  void require_finite(std::span<const float> logits, int64_t first);
  // The Error of such logits behind the token at `position`. Says where in the last pass such numbers began: runs its
  // operators again one by one, which overwrites the logits.
  Error not_finite(int64_t position);

  // Error where these tokens are none of the vocabulary's, or do not fit the context behind `position` others.
  void check_fits(std::span<const int32_t> ids, int64_t position) const;
  int64_t free_pages() const { return pages_->free_pages(); }  // that no sequence has, of kCachePage positions

  std::vector<RoutedLayer> routing() const;  // empty: no experts, or nothing ran
  const ExpertUse& expert_use() const { return *expert_use_; }
  void rewind(int64_t position);  // 0: forget everything
  // Takes up again what rewind() has left, up to any position that was reached since open(): the keys and values there
  // are those of the tokens that were last appended at each place.
  void resume(int64_t position);
  // Writes what is in the context to a file, `ids` being its tokens; and takes such a file in the place of what is
  // there: its tokens (engine/run/saved_state.h). The same for a sequence. Error where a device has memory of its own.
  // A file that is refused leaves the context as it was.
  void save_state(const std::string& path, std::span<const int32_t> ids) const;
  std::vector<int32_t> load_state(const std::string& path);
  void save_state(const std::string& path, const Sequence& sequence) const;
  Sequence load_sequence(const std::string& path);
  // Makes the plans that extend() will need for the next `tokens` tokens and compiles their kernels. then_single: also
  // for single tokens behind them. The position does not change, not even after an Error.
  void prewarm(int64_t tokens, bool then_single = false);

  int64_t position() const { return position_; }
  int64_t context() const { return activations_->sizes.context; }
  int64_t chunk() const { return activations_->sizes.tokens; }  // most tokens of one pass
  LoadedModel& model() const { return *model_; }
  Machine& machine() const { return *machine_; }
  const ModelConfig& config() const { return model_->config(); }
  const Tokenizer& tokenizer() const { return model_->tokenizer(); }
  size_t activation_bytes() const { return activations_->bytes(); }  // reused from layer to layer (H10)
  size_t cache_bytes() const;                                        // keys and values of a full context

  const std::string& plan_asked() const { return options_.plan; }
  // What was asked for, and what ran where that is another: "tensor", "auto: prefill sequence, decode rows".
  std::string plan_name() const { return describe_plans(plan_asked(), plans_ran()); }
  std::span<const PlanRan> plans_ran() const { return plans_ran_.list(); }  // since open() or forget_plans_ran()
  void forget_plans_ran() { plans_ran_.clear(); }
  ActType act() const { return *options_.act; }
  std::vector<std::string> diagnostics() const;  // fallbacks and choices of the machine and of plans, as text
  // Why other plans, on other devices, may give other bits (engine/run/contract.h); empty: they give the same.
  const std::vector<std::string>& other_bits() const { return other_bits_; }
  // Whether a token's bits may depend on which tokens were run in one pass with it.
  bool bits_depend_on_passes() const;
  // The next chunk of an extension by `total` tokens, of which `first` have run
  // (engine/plan/partition/chunk_cutting.h).
  Batch next_chunk(int64_t first, int64_t total);
  Plan plan_for(const Batch& batch);                                                     // as it would run
  PlanCosts costs_for(const Batch& batch) { return planner().costs(batch, position_); }  // on the machine's
  // The same behind so many tokens, whatever is in the context: nothing runs.
  Plan plan_for(const Batch& batch, int64_t position) { return planner().plan_for(batch, position); }
  PlanCosts costs_for(const Batch& batch, int64_t position) { return planner().costs(batch, position); }

  // One for each kind of pass, the last twelve. For tests: that a plan is used again shows in nothing else but time.
  size_t plans_kept() const { return prepared_.size(); }

  // For measuring (engine/measure/profiler.h): the operators of a batch, and what runs and times them. Running them
  // overwrites activations.
  std::vector<Operator> operators_for(const Batch& batch) const;
  // Of all batches whose length the NPU had no graphs for: in the plan `online` alone.
  const GraphCompiles& online_compiles() const { return online_compiles_; }

  // Makes, or compiles, the kernels that a GPU needs for a pass of so many tokens, whatever its plan.
  void prepare_kernels(int64_t tokens);

  // Asked between pieces of a long prefill; true: extend() throws Interrupted.
  std::function<bool()> interrupted;
  std::function<void(int64_t done, int64_t total)> prefill_progress;

  struct Interrupted : std::exception {
    const char* what() const noexcept override { return "interrupted"; }
  };

 private:
  struct PlannedFor {
    Batch batch;
    int64_t past = 0;
    bool operator==(const PlannedFor&) const = default;
  };
  struct CachedPlan {
    Batch batch;
    std::unique_ptr<PreparedPlan> prepared;
    int64_t version = 0;  // of what was known when it was made, or last found to be good
    bool ran = false;
  };

  Planner& planner() const;  // Error where the devices could not be prepared again
  Batch chunk_at(int64_t begin, int64_t first, int64_t total);
  bool accepts(std::span<const DeviceInfo* const> devices) const override;
  bool has_text() const override;
  void release_prepared() noexcept override;
  void rebuild() override;
  std::vector<std::string> find_other_bits() const;
  void prepare_kernels(std::span<const Batch> batches);
  void prepare_kernels_of_lists();
  void pass(std::span<const int32_t> ids, const Batch& batch);
  void run_and_learn(CachedPlan& cached, int64_t position);
  void follow_experts(const CachedPlan& ran);
  CachedPlan& prepared_for(const Batch& batch, int64_t position);
  void run_batch(CachedPlan& cached, std::span<const int32_t> ids, int64_t position);
  void check_fits(std::span<const Extension> extensions) const;
  void copy_page(const Sequence::PageCopy& copy);
  void require_cache_memory(int64_t end);
  SavedState open_state(const std::string& path) const;
  std::string state_description() const;

  const std::shared_ptr<LoadedModel> model_;
  const std::shared_ptr<Machine> machine_;  // the model's
  TextOptions options_;
  const Strategy* const asked_;  // nullptr: `auto`
  std::unique_ptr<Activations> activations_;
  std::shared_ptr<PagePool> pages_;  // of sequences
  std::unique_ptr<ExpertUse> expert_use_;
  std::unique_ptr<Planner> planner_;
  LruCache<PlannedFor, CachedPlan> prepared_;
  std::map<std::pair<int64_t, std::string>, int64_t> passes_;  // that ran, by length class and plan
  bool first_pass_ = true;
  Batch last_batch_{0, 0};
  struct Chunks {
    int64_t position = -1, total = 0;  // where the prompt begins, and its tokens
    std::vector<int64_t> lengths;
  } chunks_;  // of the last prompt
  GraphCompiles online_compiles_;
  PlansRan plans_ran_;
  std::vector<std::string> diagnostics_, other_bits_;
  int64_t position_ = 0;
  int64_t cached_end_ = 0;   // keys and values of positions below this are in the cache (resume())
  int64_t cache_pages_ = 0;  // most pages that were ever in use; memory of others is not taken yet
};

}  // namespace tandem
