// The history of texts in memory: a sorted index for old records, and a suffix automaton for new ones.
#include <algorithm>
#include <optional>
#include <utility>

#include "engine/draft/draft_history.h"
#include "engine/run/serve/history_file.h"
#include "sync/error.h"
#include "tandem/generate.h"

namespace tandem {

namespace {

// Tokens in the suffix automaton, which takes some 70 bytes for each, before they go to the index, which takes 8.
constexpr int64_t kMostAdded = int64_t{1} << 16;

}  // namespace

class TextHistory::State {
 public:
  DraftHistory records;
  std::optional<HistoryFile> file;
  int64_t unindexed = 0;   // tokens behind the file's index, when it was read or by this process
  bool has_added = false;  // to the file
  std::string problem;

  void read(int64_t vocabulary);
};

// Records behind the index go to the suffix automaton, which takes new ones too.
void TextHistory::State::read(int64_t vocabulary) {
  const HistoryRecords all = file->read();
  if (std::ranges::any_of(all.tokens, [vocabulary](int32_t id) { return id >= vocabulary; }))
    throw Error("the history has ids that its vocabulary lacks", file->path(), "Remove it or clear it");
  SuffixIndex index = file->index().update(all.tokens, kMostUnindexedAtStart);
  const auto rest = std::span(all.tokens).subspan(index.tokens().size());
  unindexed = std::ssize(rest);
  records = DraftHistory(std::move(index));
  for_each_text(rest, [this](std::span<const int32_t> text) { records.add(text); });
}

TextHistory::TextHistory() : state_(std::make_unique<State>()) {}

// The index gets the new texts now, when no text waits for it. Without it, the next start takes longer.
TextHistory::~TextHistory() {
  if (!state_->has_added || state_->unindexed <= static_cast<int64_t>(kMostUnindexedAtEnd)) return;
  try {
    state_->file->update_index();
  } catch (...) {
  }
}

// A file of another vocabulary is refused here, before any text uses it.
TextHistory::TextHistory(const std::string& path, const Tokenizer& tokenizer, int64_t most_bytes) : TextHistory() {
  state_->file.emplace(path, vocabulary_hash(tokenizer), most_bytes);
  state_->read(tokenizer.size());
}

// Drafts go on from what is in memory, also if the file cannot be written.
void TextHistory::add(std::span<const int32_t> ids) {
  if (ids.empty()) return;
  if (state_->records.added_tokens() > kMostAdded) state_->records.compact();
  state_->records.add(ids);
  if (!state_->file) return;
  state_->problem.clear();
  try {
    if (!state_->file->append(ids)) {
      state_->problem = state_->file->path() + ": the text is longer than the file may be";
      return;
    }
    state_->has_added = true;
    state_->unindexed += std::ssize(ids) + 1;
  } catch (const Error& error) {
    state_->problem = error.what();
  }
}

const std::string& TextHistory::problem() const { return state_->problem; }
DraftHistory& TextHistory::records() { return state_->records; }

}  // namespace tandem
