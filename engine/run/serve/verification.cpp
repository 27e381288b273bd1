// Which drafts a text accepts: the longest path on which each draft is the token that the text would have chosen
// itself. So drafts never change a text.
#include "engine/run/serve/verification.h"

#include "engine/draft/token_tree.h"
#include "engine/run/serve/sampler.h"

namespace tandem {

bool is_chain(const DraftTree& drafts) {
  for (size_t i = 0; i < drafts.parents.size(); ++i)
    if (drafts.parents[i] != static_cast<int32_t>(i) - 1) return false;
  return true;
}

// A pass has the newest token in front of the drafts, so each index moves by one.
std::vector<int32_t> parents_of_pass(const DraftTree& drafts) {
  if (is_chain(drafts)) return {};
  std::vector<int32_t> parents{-1};
  for (const int32_t parent : drafts.parents) parents.push_back(parent + 1);
  return parents;
}

// Chooses a token behind the newest one, and behind each draft that was chosen. The walk ends where the choice is
// no draft.
std::vector<int32_t> accept_drafts(const DraftTree& drafts, const LogitRows& rows, const ChooseToken& choose) {
  int32_t next = 0;
  return accepted_path(
      drafts.ids, drafts.parents, [&](int32_t node) { return choose(rows[node + 1]).value_or(-1); }, next);
}

// The same walk over tokens that were chosen before.
std::vector<int32_t> drafts_among(const DraftTree& drafts, std::span<const int32_t> got) {
  int32_t next = 0;
  size_t at = 0;
  return accepted_path(
      drafts.ids, drafts.parents, [&](int32_t) { return at < got.size() ? got[at++] : -1; }, next);
}

// A chain was appended to the sequence. A tree was not, not even its root.
void keep_path(const TextCache& cache, Sequence& sequence, const DraftTree& drafts, std::span<const int32_t> path) {
  if (is_chain(drafts)) {
    const int64_t rejected = std::ssize(drafts.ids) - std::ssize(path);
    if (rejected > 0) sequence.rewind(sequence.position() - rejected);
    return;
  }
  std::vector<int32_t> of_pass{0};
  for (const int32_t draft : path) of_pass.push_back(draft + 1);
  cache.accept(sequence, of_pass);
}

// The model's own choice behind each draft of a chain, also behind wrong ones. Sources learn from all of them.
std::vector<int32_t> choices_along(std::span<const int32_t> chain, std::span<const int32_t> got,
                                   const LogitRows& rows) {
  std::vector<int32_t> choices(got.begin(), got.end());
  for (size_t i = choices.size(); i <= chain.size(); ++i)
    choices.push_back(greedy_choice(rows[i == 0 ? 0 : chain[i - 1] + 1]));
  return choices;
}

}  // namespace tandem
