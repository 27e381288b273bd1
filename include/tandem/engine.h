// A model's texts on a machine: tokens in, logits out.
//
// Contract
//   Texts: a text is a sequence (tandem/sequence.h): tokens whose keys and values are in the KV cache. An engine has
//   any number of them, as long as the cache has pages.
//   Passes: Engine::extend() appends tokens to one or several sequences in one pass, and returns logits. The pass
//   reads the weights once for all of them. The function extend() cuts a longer text into passes.
//   Opening: open() opens the devices and loads the model. The constructor takes a loaded model, so several engines may
//   share a machine. One of them may draft while another one verifies, for example. Each engine computes the same bits
//   as it would alone.
//   Bits: a sequence's logits have the same bits whichever texts share its passes, unless
//   contract().bits_depend_on_passes.
//   Errors: what does not fit is an Error before anything runs. After a device's Error each sequence has the tokens
//   that it had.
//   Threads: any thread may call an engine, one at a time. Passes run on a thread of the machine, so engines of one
//   machine take turns, and no caller's thread is pinned.
//   Ownership: an engine owns its plans, its activations and its cache. It shares the model, and through it the
//   machine. Sequences and logits belong to the caller, and may outlive the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tandem/error.h"
#include "tandem/model.h"
#include "tandem/options.h"
#include "tandem/sequence.h"

namespace tandem {

class AcceptanceRates;
struct ActivationSizes;
class ExpertUse;
class PassPlans;
struct RoutedLayer;
struct RoutedPass;

// Whether other plans and other passes give the same bits (docs/numbers.md).
struct BitsContract {
  // Why other plans, on other devices, may give other bits: one sentence for each reason. Empty: they give the same.
  std::vector<std::string> other_bits;
  // Whether a token's bits may depend on the other tokens of its pass.
  bool bits_depend_on_passes = false;
};

class Engine {
 public:
  // An engine with its own machine and its own model.
  static std::unique_ptr<Engine> open(const EngineOptions& options);
  Engine(std::shared_ptr<LoadedModel> model, const TextOptions& options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Appends to each of these sequences in one pass. Returns logits [logit_rows, width()], in the order of the
  // extensions and of their tokens. Errors before anything runs:
  //   - A sequence stands in the list twice, its context is full, or the cache has no free page.
  //   - There are more sequences than TextOptions::sequences.
  //   - There are more tokens in all than TextOptions::chunk (0: kDefaultChunk), or than a context holds.
  //   - More tokens want logits than the larger one of TextOptions::logit_rows and TextOptions::sequences.
  //   - There are more runs of tokens than a pass has segments. Each token of a tree is one run. Another sequence has
  //     two runs if it is not alone and a part of its tokens gets logits, else one.
  //   - The model is an encoder, and a sequence has tokens already: a text of an encoder is one piece.
  //   - The parents make no tree.
  // After a device's Error each sequence has the tokens that it had, but no tree.
  // A tree's tokens lie behind the text, each at a place of its own, so the context must have room for all of
  // them. Each token gets the bits that it would have behind its ancestors in a text. The sequence's position does
  // not change.
  Logits extend(std::span<const Extension> extensions);
  // Fixes the address of the last pass's logits: until their last object ends, which may be after the engine's end, no
  // pass writes there. Returns whether they stay in the buffer that the pass wrote. If two others stay already, or
  // there is no memory for one more buffer, they are copied now. The first pass that writes to another buffer has its
  // programs prepared for it.
  bool keep_in_place(const Logits& logits);
  // Prepares the plans that the function extend() will need for the next `tokens` tokens behind `position` tokens, and
  // compiles their kernels. then_single: also the plan for single tokens behind them.
  void prewarm(int64_t position, int64_t tokens, bool then_single = false);
  // Returns the Error for logits of the last pass that are not finite at the token at `position`. To find out where
  // such numbers begin, it runs the pass's operators again one by one.
  Error not_finite(int64_t position);

  TextCache& cache();  // makes sequences, forks them, and keeps them in files
  const TextCache& cache() const;
  LoadedModel& model() const;
  const std::shared_ptr<LoadedModel>& shared_model() const;  // for another engine of it
  Machine& machine() const;
  const TextOptions& options() const;  // as given; `act` has a value
  // Values of a row that a pass returns: the vocabulary's, or those of a state (TextOptions::hidden_states).
  int64_t width() const;
  // Whether other plans and passes give the same bits on the present devices.
  const BitsContract& contract() const;
  std::vector<std::string> diagnostics() const;  // texts for users: fallbacks and choices of the machine and of plans

  // For this project's own programs (engine/run/engine.h).
  PassPlans& plans();  // plans for batches, their costs, and which of them ran
  const PassPlans& plans() const;
  AcceptanceRates& draft_rates();  // of the drafts of all texts
  const ActivationSizes& sizes() const;
  size_t activation_bytes() const;           // buffers that all layers reuse (H10)
  std::vector<RoutedLayer> routing() const;  // of the last pass; empty: the model has no experts, or nothing ran
  // Called on the machine's thread after each pass; empty: no longer. TextOptions::route_every_token makes the last
  // layer complete.
  void watch_routing(std::function<void(const RoutedPass& pass)> watch);
  const ExpertUse& expert_use() const;

 private:
  class State;
  const std::unique_ptr<State> state_;
};

struct ExtendOptions {
  std::function<bool()> interrupted{};  // asked between two chunks; true: the call throws Interrupted
  // Called after each chunk, if there are several: `done` of `total` tokens have run.
  std::function<void(int64_t done, int64_t total)> progress{};
};

// Appends tokens to one text, however many, in chunks that passes can take (N5). Returns the last token's logits,
// [vocabulary]. Tokens that do not fit the context, or are not in the vocabulary, are an Error before anything runs. If
// a device fails or the caller interrupts, the sequence keeps the chunks that have run. The machine's thread calls the
// callbacks, which end with the call.
Logits extend(Engine& engine, Sequence& sequence, std::span<const int32_t> ids, const ExtendOptions& options = {});

// Every token gets logits. `sink` gets those of each chunk, [n, vocabulary], with the index in ids of their first
// token. TextOptions::logit_rows bounds a chunk.
using LogitsSink = std::function<void(int64_t first, std::span<const float> logits)>;
void extend_all(Engine& engine, Sequence& sequence, std::span<const int32_t> ids, const LogitsSink& sink,
                const ExtendOptions& options = {});

}  // namespace tandem
