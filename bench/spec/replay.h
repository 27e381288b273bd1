// Question: how much faster are recorded texts written with drafts, and how much do their accepted drafts allow?
#pragma once

#include <cstdint>
#include <vector>

#include "bench/spec/cases.h"
#include "engine/run/engine.h"
#include "tandem/generate.h"

namespace tandem::bench {

struct ReplayOptions {
  SpecMode mode = SpecMode::automatic;
  int64_t draft_max = 15;
  int rounds = 2, texts = 1;  // how often each text is written either way; texts at once
  bool history = false;       // outputs of a task are the history of its next texts
};

// Prints a row for each task. Each text is written without and with drafts in turn, and its tokens are compared with
// the recorded ones. Returns the exit status.
//
// "Allowed" is the gain if each pass took the median time of its width: tokens * T(1) / sum of T(width). T(1) is that
// of passes without drafts in texts without drafts. Error: a text is not the recorded one.
int replay_texts(Engine& engine, const std::vector<Case>& cases, const ReplayOptions& options);

}  // namespace tandem::bench
