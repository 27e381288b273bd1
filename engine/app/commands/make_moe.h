// `tandem make-moe`: a mixture of experts made of a dense model's file (docs/npumoe.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/app/command.h"
#include "engine/app/common_flags.h"

namespace tandem::app {

struct MakeMoeFlags {
  int64_t experts = 0, used = 2;   // E, k
  std::string kind = "split";      // or "cloned"
  std::string router = "kmeans";   // or "even"
  std::vector<std::string> texts;  // -f, that kmeans reads; none: a built-in one
  uint64_t seed = 1;               // of kmeans
  std::string output;              // path
};

void add_make_moe(CLI::App& app, Action& action);
int make_moe_command(const CommonFlags& flags, const MakeMoeFlags& own);

}  // namespace tandem::app
