// S4: one pass verifies all drafts of a text. Its tokens are those that plain decoding would choose.
//
// Row 0 of the logits is behind the newest token, and row i + 1 is behind draft i.
//
// Contract: functions without state. Threads: the orchestrator's.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "tandem/sequence.h"

namespace tandem {

// The logits of one text in a pass, [rows, vocabulary]. The first `tokens` of a row belong to tokens. The others are
// rows of a matrix that is larger than the tokenizer, and no text chooses them.
class LogitRows {
 public:
  LogitRows(std::span<const float> values, size_t vocabulary, size_t tokens)
      : values_(values), vocabulary_(vocabulary), tokens_(tokens) {}
  std::span<const float> operator[](int64_t row) const {
    return values_.subspan(static_cast<size_t>(row) * vocabulary_, tokens_);
  }

 private:
  std::span<const float> values_;
  size_t vocabulary_, tokens_;
};

// Whether each draft follows the one before it. Such drafts need no tree.
bool is_chain(const DraftTree& drafts);
// Parents of a pass's tokens: the newest token, which is the root, and its drafts. Empty: they are a chain.
std::vector<int32_t> parents_of_pass(const DraftTree& drafts);

// M5: choose(row) is called for one row after the other along the accepted path, as in plain decoding. It returns the
// text's next token, or nothing where the text ends. Returns the drafts that are part of the text.
using ChooseToken = std::function<std::optional<int32_t>(std::span<const float> row)>;
std::vector<int32_t> accept_drafts(const DraftTree& drafts, const LogitRows& rows, const ChooseToken& choose);

// The drafts that these new tokens of the text are, with one that ends the text.
std::vector<int32_t> drafts_among(const DraftTree& drafts, std::span<const int32_t> got);

// After the pass: the sequence keeps the newest token and the accepted drafts.
void keep_path(const TextCache& cache, Sequence& sequence, const DraftTree& drafts, std::span<const int32_t> path);

// S5: what the model chose behind the newest token, and behind each draft of this chain: the tokens that the text got,
// and then the likeliest token of each row.
std::vector<int32_t> choices_along(std::span<const int32_t> chain, std::span<const int32_t> got, const LogitRows& rows);

}  // namespace tandem
