// A model's texts on a machine: tokens in, logits out.
//
// Contract
//   Texts: a text is a sequence (engine/run/cache/sequence.h): tokens whose keys and values are in the KV cache. An
//   engine has any number of them, as long as the cache has pages.
//   Passes: extend() appends tokens to one or several sequences in one pass through all layers, so that the weights are
//   read once for all of them, and returns logits. engine/run/serve/extend.h cuts longer texts into passes.
//   Opening: open() opens the devices and loads the model. The constructor takes a loaded model, so several engines may
//   share a machine. One of them may draft while another one verifies, for example. Each engine computes the same bits
//   as it would alone.
//   Bits: a sequence's logits have the same bits whichever texts share its passes, unless
//   contract().bits_depend_on_passes.
//   Errors: what does not fit is an Error before anything runs. After a device's Error each sequence has the tokens
//   that it had.
//   Threads: any thread may call an engine, one at a time. Passes run on a thread of the machine
//   (engine/run/machine/orchestrator.h), so engines of one machine take turns, and no caller's thread is pinned.
//   Ownership: an engine owns its plans, its activations and its cache. It shares the model, and through it the
//   machine. Sequences and logits belong to the caller, and may outlive the engine.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/graph/activations.h"
#include "engine/graph/decoder.h"
#include "engine/plan/strategy.h"
#include "engine/run/cache/extension.h"
#include "engine/run/cache/text_cache.h"
#include "engine/run/choice/contract.h"
#include "engine/run/choice/expert_use.h"
#include "engine/run/machine/engine_options.h"
#include "engine/run/machine/loaded_model.h"
#include "engine/run/machine/machine.h"
#include "engine/run/pass/logits.h"
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

  // Appends to each of these sequences in one pass. Returns logits [logit_rows, vocabulary], in the order of the
  // extensions and of their tokens. Errors before anything runs:
  //   - A sequence stands in the list twice, its context is full, or the cache has no free page.
  //   - There are more sequences than TextOptions::sequences, or more tokens in all than sizes().tokens.
  //   - More tokens want logits than the larger one of TextOptions::logit_rows and TextOptions::sequences.
  //   - There are more runs of tokens than a pass has segments. Each token of a tree is one run. Another sequence has
  //     two runs if it is not alone and a part of its tokens gets logits, else one.
  //   - The parents make no tree, or a device keeps the cache in memory of its own and there is a tree.
  // After a device's Error each sequence has the tokens that it had, but no tree.
  // A tree's tokens lie behind the text, each at a place of its own, so the context must have room for all of
  // them. Each token gets the bits that it would have behind its ancestors in a text. The sequence's position does
  // not change.
  Logits extend(std::span<const Extension> extensions);
  // Prepares the plans that engine/run/serve/extend.h will need for the next `tokens` tokens behind `position` tokens,
  // and compiles their kernels. then_single: also the plan for single tokens behind them.
  void prewarm(int64_t position, int64_t tokens, bool then_single = false);
  // Returns the Error for logits of the last pass that are not finite at the token at `position`. To find out where
  // such numbers begin, it runs the pass's operators again one by one.
  Error not_finite(int64_t position);

  std::vector<RoutedLayer> routing() const;  // of the last pass; empty: the model has no experts, or nothing ran
  const ExpertUse& expert_use() const { return *expert_use_; }

  TextCache& cache() { return *cache_; }  // makes sequences, forks them, and keeps them in files
  const TextCache& cache() const { return *cache_; }
  PassPlans& plans() { return *plans_; }  // plans for batches, their costs, and which of them ran
  const PassPlans& plans() const { return *plans_; }
  LoadedModel& model() const { return *model_; }
  Machine& machine() const { return *machine_; }
  const TextOptions& options() const { return options_; }  // as given; `act` has a value
  const ActivationSizes& sizes() const { return activations_->sizes; }
  size_t activation_bytes() const { return activations_->bytes(); }  // buffers that all layers reuse (H10)
  // Whether other plans and passes give the same bits on the present devices.
  const BitsContract& contract() const { return contract_; }
  std::vector<std::string> diagnostics() const;  // texts for users: fallbacks and choices of the machine and of plans

 private:
  bool accepts(std::span<const DeviceInfo* const> devices) const override;
  bool has_text() const override { return cache_->has_sequences(); }
  void release_prepared() noexcept override { plans_->release(); }
  void rebuild() override;
  BitsContract find_contract(std::span<const DeviceInfo* const> devices) const;
  PassLimits limits(bool trees) const;
  void set_up();
  Logits run(std::span<const Extension> extensions);
  void run_batch(PassPlans::Entry& entry, const PassTokens& pass);

  const std::shared_ptr<LoadedModel> model_;
  const std::shared_ptr<Machine> machine_;  // the model's
  TextOptions options_;
  const Strategy* const asked_;  // nullptr: `auto`
  std::unique_ptr<Activations> activations_;
  std::unique_ptr<TextCache> cache_;
  std::unique_ptr<ExpertUse> expert_use_;
  std::unique_ptr<PassPlans> plans_;
  Batch last_batch_{0, 0};
  std::vector<std::string> diagnostics_;
  BitsContract contract_;
  LogitsBuffer logits_;  // the one in activations_
};

}  // namespace tandem
