// Parts shared by commands that generate text: a prompt's tokens, the sampler's options, and a generation as JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "engine/app/commands/open_engine.h"
#include "engine/app/common_flags.h"
#include "engine/run/engine.h"
#include "engine/run/serve/generate.h"

namespace tandem::app {

// The prompt's tokens; never empty. A text without tokens becomes the model's start token; Error if it has none.
std::vector<int32_t> prompt_ids(const CommonFlags& flags, const std::string& text, const Tokenizer& tokenizer);

GenerateOptions generate_options(const CommonFlags& flags);  // Ctrl-C interrupts the generation

// Number of tokens whose logits were computed after the prompt's. The first token came with the prompt.
int64_t decoded_tokens(const Generation& g);
double per_second(int64_t tokens, double seconds);  // 0 if nothing was timed
// The needs of a command that writes so many texts at once. any_may_draft: a text may have a --spec of its own.
EngineNeeds needs_of_texts(const CommonFlags& flags, int64_t texts, bool any_may_draft = false);
// The object of `tandem run --json`. is_chat: the prompt was put as a user's turn.
nlohmann::json generation_json(const Generation& g, std::span<const int32_t> prompt, bool is_chat,
                               const GenerateOptions& options, const Engine& engine);
// Prints a drawn seed to stderr. Prints nothing with -q, or if the user chose the seed.
void print_drawn(const CommonFlags& flags, const Seed& seed);

}  // namespace tandem::app
