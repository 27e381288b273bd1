// Requests for vectors of texts, and their answers: what /v1/embeddings takes and gives.
//
// Contract: pure. Every member is checked, and what is not known is refused by name (fields.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/serve/api/ask.h"
#include "engine/serve/api/fields.h"

namespace tandem::serve {

inline constexpr size_t kMostEmbeddings = 2048;  // texts of a request, as OpenAI's

struct EmbeddingAsk {
  std::optional<std::string> model;
  std::vector<Ask::Prompt> texts;
  bool base64 = false;
  std::vector<std::string> ignored;  // unknown members, if the server is lenient
};

// width: values of a vector, which `dimensions` may only repeat.
EmbeddingAsk read_embeddings(const Json& body, const AskRules& rules, int64_t width);

Json embeddings_answer(const std::vector<std::vector<float>>& vectors, bool base64, const std::string& model,
                       int64_t tokens);

}  // namespace tandem::serve
