// `tandem make-random`: a model file of a published model's shape, with random weights, for measurements.
#pragma once

#include <cstdint>
#include <string>

#include "engine/app/command.h"
#include "engine/app/common_flags.h"

namespace tandem::app {

struct MakeRandomFlags {
  std::string shape;          // a published model's name, or a .json or .gguf file
  std::string type = "Q4_0";  // of the matrices
  std::string output;         // path
  uint64_t seed = 1;
};

void add_make_random(CLI::App& app, Action& action);
int make_random_command(const CommonFlags& flags, const MakeRandomFlags& own);

}  // namespace tandem::app
