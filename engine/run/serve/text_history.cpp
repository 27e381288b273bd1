#include <optional>
#include <utility>

#include "engine/draft/draft_history.h"
#include "engine/run/serve/history_file.h"
#include "sync/error.h"
#include "tandem/generate.h"

namespace tandem {

class TextHistory::State {
 public:
  DraftHistory records;
  std::optional<HistoryFile> file;
  std::string problem;
};

TextHistory::TextHistory() : state_(std::make_unique<State>()) {}
TextHistory::~TextHistory() = default;

TextHistory::TextHistory(const std::string& path, const Tokenizer& tokenizer, int64_t most_bytes) : TextHistory() {
  state_->file.emplace(path, vocabulary_hash(tokenizer), most_bytes);
  for_each_text(state_->file->read().tokens, [this](std::span<const int32_t> text) { state_->records.add(text); });
}

// Drafts go on from what is in memory, also if the file cannot be written.
void TextHistory::add(std::span<const int32_t> ids) {
  if (ids.empty()) return;
  state_->records.add(ids);
  if (!state_->file) return;
  state_->problem.clear();
  try {
    if (!state_->file->append(ids))
      state_->problem = state_->file->path() + ": the text is longer than the file may be";
  } catch (const Error& error) {
    state_->problem = error.what();
  }
}

const std::string& TextHistory::problem() const { return state_->problem; }
DraftHistory& TextHistory::records() { return state_->records; }

}  // namespace tandem
