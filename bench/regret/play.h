// Plays passes on engines that choose their plans, and beside each of them on engines with a named plan. They take
// turns, so that a slow minute of the machine affects all of them.
//
// Contract: the results have one entry for each pass. Error if an engine's logits have other bits than the host's
//   own loops, unless the devices do not promise equal bits (BitsContract). Threads: the caller's, which is
//   pinned.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/regret/figures.h"
#include "bench/regret/passes.h"

namespace tandem::bench {

struct PlayOptions {
  std::string model;
  std::vector<std::string> devices;  // ids; empty: the engine's choice
  std::vector<std::string> plans;    // plans that hindsight may take
  PassRequest passes;
  int repetitions = 3;          // runs of each plan, and number of players; each has an empty file of measurements
  ActType act = ActType::f16;   // activations of all engines
  bool empty_programs = false;  // players find no compiled programs either
  std::string scratch;          // folder for the players' files
};

struct Game {
  std::vector<Pass> passes;
  std::vector<std::vector<PlayedPass>> played;  // by player
  std::vector<HindsightPass> hindsight;
  std::vector<std::string> notes;  // what was left out, and why
  int64_t verified = 0;            // passes of players whose logits were compared
  bool contended = false;          // other programs used the cores
};

// progress: called after each pass.
Game play(const PlayOptions& options, const std::function<void(size_t done)>& progress);

}  // namespace tandem::bench
