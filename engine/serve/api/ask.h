// A request for texts, as a value: what /v1/completions and /v1/chat/completions take.
//
// Contract: pure; every member is checked, and what is not known is refused by name (fields.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/serve/api/fields.h"
#include "engine/serve/openai/tools.h"
#include "tandem/generate.h"

namespace tandem::serve {

inline constexpr int64_t kMostChoices = 16, kMostLogprobs = 20;
inline constexpr size_t kMostStops = 16, kMostPrompts = 64;

struct Ask {
  struct Prompt {
    std::string text;
    std::vector<int32_t> ids{};  // in place of the text, if there are any
  };
  std::optional<std::string> model;
  bool is_chat = false;
  std::vector<Prompt> prompts;   // of a completion
  Json messages;                 // of a chat: [{"role", "content": text, ...}]
  Tools tools;                   // that a chat offers
  Json template_arguments;       // further variables of the chat template; null: none
  bool begins_answer = true;     // the conversation ends where the answer begins (`add_generation_prompt`)
  GenerateOptions options;       // without constraint and callbacks
  std::optional<uint64_t> seed;  // nothing: any
  std::optional<std::string> json_schema, grammar;
  bool json_object = false;
  int64_t choices = 1;              // of each prompt
  std::optional<int64_t> logprobs;  // likely tokens at each place; nothing: no probabilities
  bool echo = false;
  bool is_stream = false, include_usage = false;
  std::vector<std::string> ignored;  // unknown members, if the server is lenient
};

struct AskRules {
  GenerateOptions usual;  // values of members that are absent
  int64_t vocabulary = 0;
  bool lenient = false;
};

Ask read_completion(const Json& body, const AskRules& rules);
Ask read_chat(const Json& body, const AskRules& rules);

}  // namespace tandem::serve
