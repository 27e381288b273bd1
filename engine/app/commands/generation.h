// What commands that generate text share: a prompt's tokens, the flags of the sampler, and a generation as JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "engine/app/common_flags.h"
#include "engine/run/engine.h"
#include "engine/run/generate.h"

namespace tandem::app {

// Never empty: a text without tokens is the model's start token, and an Error where it has none.
std::vector<int32_t> prompt_ids(const CommonFlags& flags, const std::string& text, const Tokenizer& tokenizer);

GenerateOptions generate_options(const CommonFlags& flags);  // interrupted by Ctrl-C

// Tokens whose logits were computed after the prompt's: the first one came with the prompt.
int64_t decoded_tokens(const Generation& g);
double per_second(int64_t tokens, double seconds);  // 0 where nothing was timed

// `tandem run --json`; is_chat: the prompt was put as a user's turn
nlohmann::json generation_json(const Generation& g, std::span<const int32_t> prompt, bool is_chat,
                               const SamplerOptions& sampler, const Engine& engine);
// A line on stderr for a seed that was drawn; nothing with -q, or where the user named it.
void print_drawn(const CommonFlags& flags, const Seed& seed);

}  // namespace tandem::app
