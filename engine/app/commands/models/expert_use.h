// `tandem calibrate-moe` and `tandem trace-moe`: count or record a model's use of its experts while it reads texts
// (N1; docs/npumoe.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/app/command.h"
#include "engine/app/common_flags.h"
#include "engine/moe/near_ties.h"
#include "engine/run/engine.h"

namespace tandem::app {

// Texts are cut into independent windows. Each begins with the tokens that the model wants at the beginning of a text.
struct ExpertUseFlags {
  std::vector<std::string> texts;      // -f
  std::vector<std::string> ids_files;  // --ids: each line is a window of token ids, used as they are
  std::vector<std::string> recorded;   // --routing: files of trace-moe, instead of a model and texts
  int64_t window = 256;                // tokens
  bool scores = false;                 // trace-moe: also the softmax over all experts
  int64_t guess = 0;                   // trace-moe: guess the experts of so many later layers
  std::string output;                  // -o
};

void add_calibrate_moe(CLI::App& app, Action& action);
void add_trace_moe(CLI::App& app, Action& action);
// Adds the margins of the routers' choices in the last pass. Does nothing for a model without experts.
void add_margins(RouterMargins& margins, const Engine& engine);

int calibrate_moe_command(const CommonFlags& flags, const ExpertUseFlags& own);
int trace_moe_command(const CommonFlags& flags, const ExpertUseFlags& own);

}  // namespace tandem::app
