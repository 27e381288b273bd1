// Writes many texts at once: their tokens share passes, so that the weights are read once for all of them.
//
// Idea: batches are made anew for every pass, of whatever texts there are at that time (Orca: Yu et al., OSDI 2022): a
// text
//   joins as soon as there is room, and leaves when it ends. A pass has one token of each text that is being written,
//   and fills up with pieces of prompts, the first that came first.
// Prefixes: a prompt that begins as another text does, be that text written yet or just ended, takes over its pages.
// Contract: a text's ids are those that generate() gives for it alone, where Engine::bits_depend_on_passes() is false.
//   A text whose prompt does not fit the context, or whose logits are not finite, ends with an Error of its own, and
//   the others go on. A device's failure ends all that are in work; those that wait are tried yet. An exception of a
//   text's own on_text or interrupted, and want of memory, is the error of that text alone.
//   Threads: its engine's.
//   Ownership: borrows the engine.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "engine/run/engine.h"
#include "engine/run/generate.h"
#include "engine/run/sequence.h"

namespace tandem {

class Batcher {
 public:
  // `width` texts at a time, at most EngineOptions::sequences.
  Batcher(Engine& engine, int64_t width);

  struct Result {
    Generation generation;
    std::exception_ptr error;  // why there is none
  };
  using OnEnd = std::function<void(Result)>;
  // Puts a text in line. on_end is called once, by step(). Its exceptions pass through step(), and the other texts go
  // on with the next one.
  void add(std::vector<int32_t> prompt, GenerateOptions options, OnEnd on_end);

  int64_t waiting() const { return static_cast<int64_t>(waiting_.size()); }  // not begun
  int64_t active() const { return static_cast<int64_t>(texts_.size()); }
  // One pass. False: there is no text.
  bool step();

  // Over all texts so far.
  struct Totals {
    int64_t passes = 0, pass_tokens = 0;
    int64_t shared_tokens = 0;  // of prompts, taken over from other texts
  };
  const Totals& totals() const { return totals_; }

 private:
  struct Waiting {
    std::vector<int32_t> prompt;
    GenerateOptions options;
    OnEnd on_end;
  };
  struct Text {
    Sequence sequence;
    std::vector<int32_t> prompt;
    Continuation continuation;
    OnEnd on_end;
    int64_t kept = 0;
    double began = 0, first_logits = 0;  // seconds of the clock
    std::optional<int32_t> next{};       // token that was chosen and not run yet; nothing: the prompt is being read
    bool cut = false;                    // interrupted while the prompt was read
    std::exception_ptr error{};          // what it ends with
  };
  static bool is_reading(const Text& text);   // its prompt
  static bool is_complete(const Text& text);  // it has come to its end, one way or another
  template <typename Work>
  static void guard(Text& text, const Work& work);
  bool will_share_more(std::span<const int32_t> prompt) const;
  void begin_texts();
  Sequence begin_like_others(std::span<const int32_t> prompt);
  std::vector<Engine::Extension> next_pass();
  void make_room(std::span<const Engine::Extension> pass);
  void take_logits(Text& text, std::span<const float> logits);
  void find_not_finite();
  void end_complete();
  void end(size_t index);

  Engine& engine_;
  int64_t width_;
  std::deque<Waiting> waiting_;
  std::vector<Text> texts_;
  std::deque<Sequence> ended_;  // the last one ended last; kept for prompts that begin like them
  Totals totals_;
};

}  // namespace tandem
