// Requests of the routes that write no text: ids of texts, texts of ids, conversations as a template renders them.
//
// Contract: pure. Every member is checked, and what is not known is refused by name (fields.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/serve/api/ask.h"

namespace tandem::serve {

struct TokenizeAsk {
  std::string content;
  bool add_special = false, parse_special = true, with_pieces = false;
};

TokenizeAsk read_tokenize(const Json& body, const AskRules& rules);
std::vector<int32_t> read_detokenize(const Json& body, const AskRules& rules);
// The Ask has only what a template needs.
Ask read_apply_template(const Json& body, const AskRules& rules);

}  // namespace tandem::serve
