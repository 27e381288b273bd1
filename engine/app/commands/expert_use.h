// `tandem calibrate-moe` and `tandem trace-moe`: how a model's experts are used, counted or recorded while it reads
// texts (N1; docs/npumoe.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/app/command.h"
#include "engine/app/common_flags.h"
#include "engine/moe/near_ties.h"
#include "engine/run/engine.h"

namespace tandem::app {

// Texts are cut into windows that know nothing of each other, each of which begins as the model wants a text to begin.
struct ExpertUseFlags {
  std::vector<std::string> texts;      // -f
  std::vector<std::string> ids_files;  // --ids: each line is a window of token ids, used as they are
  std::vector<std::string> recorded;   // --routing: files of trace-moe, in place of a model and texts
  int64_t window = 256;                // tokens
  std::string output;                  // -o
};

void add_calibrate_moe(CLI::App& app, Action& action);
void add_trace_moe(CLI::App& app, Action& action);
// Adds how near the routers of the last pass came to other choices; nothing for a model without experts.
void add_margins(RouterMargins& margins, const Engine& engine);

int calibrate_moe_command(const CommonFlags& flags, const ExpertUseFlags& own);
int trace_moe_command(const CommonFlags& flags, const ExpertUseFlags& own);

}  // namespace tandem::app
