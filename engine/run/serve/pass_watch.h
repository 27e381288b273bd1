// Somebody who watches the passes of many texts: what each pass did, and for some passes each step of the devices.
//
// Contract: the batcher asks before a pass what is wanted, and gives a record behind it. Both calls come from the
// machine's thread and must be short. Nothing is recorded for a pass that nobody wants. Recording steps may slow a
// pass down, so it should be asked for seldom. Times are seconds of the steady clock, and measured, except for spans
// that say `modelled`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/run/pass/timeline.h"

namespace tandem {

struct PassRecord {
  struct Text {
    std::string label;  // GenerateOptions::label
    int64_t tokens = 0, position = 0;
    bool is_prompt = false;  // else the newest token with its drafts
  };
  double start_seconds = 0, end_seconds = 0;
  std::string plan;
  std::vector<Text> texts;            // that share the pass
  int64_t written = 0;                // tokens that the texts got of it
  int64_t pages = 0, used_pages = 0;  // of the KV cache; ended texts that later ones may continue use some
  bool has_steps = false;
  std::vector<Span> spans{};  // of the devices, with their waits; empty without steps
  int64_t tokens() const;
};

class PassWatch {
 public:
  virtual ~PassWatch() = default;
  enum class Detail : uint8_t { nothing, pass, steps };
  virtual Detail wanted(int64_t tokens) = 0;  // of the next pass, which has so many tokens
  virtual void take(PassRecord record) = 0;
};

class Machine;

// Records the steps of one pass: from the constructor until take() or the destructor. A timeline that is recorded
// anyway goes on, and the spans of the pass are copied from it.
class StepRecorder {
 public:
  StepRecorder(Machine& machine, bool is_on);
  ~StepRecorder();
  StepRecorder(const StepRecorder&) = delete;
  StepRecorder& operator=(const StepRecorder&) = delete;
  std::vector<Span> take();  // ends the recording

 private:
  Machine& machine_;
  Timeline own_;
  Timeline* recorded_ = nullptr;  // nullptr: nothing is recorded, or no longer
  size_t first_ = 0;
};

}  // namespace tandem
