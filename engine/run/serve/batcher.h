// Continuous batching: many requests share passes, so that the weights are read once for all of them.
//
// Method: every pass is a new batch of the requests that are active at that time (Orca: Yu et al., OSDI 2022). A
// request is admitted when there is room, and leaves when it ends. A pass has one token of each request that writes.
// Chunks of prompts fill the rest of the pass, in the order in which the requests were admitted.
// Prefix sharing: a prompt that begins like the text of another request, active or finished, shares its pages.
//
// Contract: a request's ids are those of generate() for it alone, unless Engine::contract().bits_depend_on_passes.
//   A request whose prompt does not fit the context, or whose logits are not finite, ends with an Error of its own.
//   The other requests continue. A device's failure ends all active requests, and queued ones are tried afterwards.
//   An exception of a request's own callbacks (on_text, on_prompt, interrupted), or a lack of memory for it, is the
//   error of that request alone. Chunks: a prompt that is alone in a pass is cut as by engine/run/serve/extend.h.
//   Threads: one at a time. The machine's thread calls the callbacks. Ownership: borrows the engine.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "engine/run/cache/sequence.h"
#include "engine/run/engine.h"
#include "engine/run/serve/generate.h"

namespace tandem {

class Batcher {
 public:
  // width: active requests at a time, at most EngineOptions::sequences.
  Batcher(Engine& engine, int64_t width);

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

  int64_t waiting() const { return static_cast<int64_t>(queue_.size()); }  // not admitted yet
  int64_t active() const { return static_cast<int64_t>(active_.size()); }
  // One pass. False: there is no request.
  bool step();

  // Sums over all requests so far.
  struct Totals {
    int64_t passes = 0, pass_tokens = 0;
    int64_t shared_tokens = 0;  // prompt tokens whose pages came from other requests
  };
  const Totals& totals() const { return totals_; }

 private:
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
    std::deque<int64_t> chunks{};        // of the rest of the prompt, while the request is alone; empty: not cut yet
    std::optional<int32_t> next{};       // the sampled token that has not run yet; nothing: the prompt is being read
    bool cut = false;                    // interrupted while the prompt was read
    std::exception_ptr error{};          // the error that the request ends with

    Sequence& sequence() { return given ? *given : own; }
    const Sequence& sequence() const { return given ? *given : own; }
  };
  static bool is_reading(const ActiveRequest& request);  // part of its prompt has not run
  static bool is_complete(const ActiveRequest& request);
  template <typename Work>
  static void guard(ActiveRequest& request, const Work& work);
  bool step_here();
  bool awaits_shared_prefix(const Request& next) const;
  void admit();
  ActiveRequest begin(Request& next);
  Sequence fork_or_new(std::span<const int32_t> prompt);
  int64_t next_tokens(ActiveRequest& request, int64_t room);
  std::vector<Extension> next_pass();
  void evict_finished(std::span<const Extension> pass);
  void report_progress(const ActiveRequest& request) const;
  void take_logits(ActiveRequest& request, std::span<const float> logits);
  void find_not_finite();
  void end_completed();
  void end(size_t index);

  Engine& engine_;
  int64_t width_;
  std::deque<Request> queue_;
  std::vector<ActiveRequest> active_;
  std::deque<Sequence> finished_;  // in the order of their ends; kept for prompts that share a prefix
  Totals totals_;
};

}  // namespace tandem
