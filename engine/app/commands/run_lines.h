// `tandem run --jsonl FILE`: many prompts, an object a line, and an object a line back, in order.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/app/common_flags.h"

namespace tandem::app {

// {"prompt": "text", "n_predict": 32, "seed": 7}; the last two are optional.
struct PromptLine {
  std::string prompt;
  std::optional<int64_t> predict;
  std::optional<uint64_t> seed;
};
// Error where it is no such object, or has other keys.
PromptLine parse_prompt_line(std::string_view text);

// A line is answered before the next one is read. One that is broken, or whose prompt cannot be run, is answered with
// {"line", "error"}, and the rest goes on; the status is kFailed then. What a prompt has in common with the context as
// the one before has left it is not run again.
int run_lines_command(const CommonFlags& flags, const std::string& path);

}  // namespace tandem::app
