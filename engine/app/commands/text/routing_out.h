// --routing-out of `run` and `eval`: the experts of every token that the engine runs, as a trace.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/app/common_flags.h"
#include "engine/moe/routing_record.h"
#include "engine/run/engine.h"

namespace tandem::app {

// Records while it lives, and writes the file in finish(). Does nothing without the flag. Every token of every pass is
// a line, also drafts that are not accepted. Texts have numbers in the order in which they begin. A text is known again
// by its tokens, because a sequence may lie elsewhere in each pass.
class RoutingOut {
 public:
  RoutingOut(const CommonFlags& flags, Engine& engine);  // Error if the model has no experts
  ~RoutingOut() { stop(); }
  RoutingOut(const RoutingOut&) = delete;
  RoutingOut& operator=(const RoutingOut&) = delete;
  void finish();

 private:
  void stop();
  void take(const RoutedPass& pass);
  // A text as its last pass left it.
  struct Text {
    std::vector<int32_t> ids;  // before the pass, and those of the pass; some of these may be drafts
    int64_t position = 0;      // where the pass began
    int64_t last_pass = 0;
    // Whether a sequence with these tokens is the same text: it has all tokens from before the pass and at least the
    // first of the pass. A prompt has no drafts, so all tokens of a first pass must be there.
    bool continues_as(std::span<const int32_t> now) const;
  };
  size_t text_of(const Sequence& sequence);  // its index, of a new one if need be
  size_t number_of(const Extension& extension);

  const std::string path_;
  const bool quiet_;
  Engine& engine_;
  std::optional<RoutingRecord> record_;
  std::vector<Text> texts_;
  int64_t passes_ = 0;
};

// The place of a token in its text: behind its ancestors, if it is one of a tree of drafts.
int64_t position_of(const Extension& extension, int64_t token);

}  // namespace tandem::app
