// --routing-out of `run` and `eval`: the experts of every token that the engine runs, as a trace.
#pragma once

#include <map>
#include <optional>

#include "engine/app/common_flags.h"
#include "engine/moe/routing_record.h"
#include "engine/run/engine.h"

namespace tandem::app {

// Records while it lives, and writes the file in finish(). Does nothing without the flag. Every token of every pass is
// a line, also drafts that are not accepted. Sequences have numbers in the order in which they begin.
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
  int64_t number_of(const Sequence& sequence);

  const std::string path_;
  const bool quiet_;
  Engine& engine_;
  std::optional<RoutingRecord> record_;
  std::map<const Sequence*, int64_t> numbers_;
  int64_t begun_ = 0;  // sequences
};

// The place of a token in its text: behind its ancestors, if it is one of a tree of drafts.
int64_t position_of(const Extension& extension, int64_t token);

}  // namespace tandem::app
