#include "engine/run/cache/extension.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "engine/run/cache/draft_tree.h"
#include "sync/error.h"

namespace tandem {
namespace {

// Tokens of a text extend the last run if they directly follow it, and begin a new run otherwise.
void add_text(PassTokens& pass, const Sequence& sequence, int64_t first, int64_t tokens) {
  if (tokens == 0) return;
  std::vector<TokenRun>& runs = pass.runs;
  const bool goes_on = !runs.empty() && runs.back().pages.data() == sequence.pages().data() &&
                       runs.back().first_position + runs.back().tokens == first;
  if (goes_on) {
    runs.back().tokens += tokens;
    return;
  }
  runs.push_back({tokens, first, sequence.pages()});
  pass.position = std::max(pass.position, first);
}

// A draft is a run of one token. Its position is its depth behind the text, and its path lists the places of its
// ancestors. Its own place behind the text is its index in the tree.
void add_draft(PassTokens& pass, const Extension& each, int32_t token) {
  const auto behind = static_cast<int32_t>(each.sequence->position());
  TokenRun run{1, behind - 1, each.sequence->pages(), path_to(each.parents, token)};
  run.first_position += std::ssize(run.path);
  for (int32_t& at : run.path) at += behind;
  pass.position = std::max(pass.position, run.first_position);
  pass.runs.push_back(std::move(run));
}

// Adds the tokens of an extension from `begin` up to `end`.
void add(PassTokens& pass, const Extension& each, int64_t begin, int64_t end) {
  const auto some = each.ids.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
  pass.ids.insert(pass.ids.end(), some.begin(), some.end());
  if (each.parents.empty())
    add_text(pass, *each.sequence, each.sequence->position() + begin, std::ssize(some));
  else
    for (int64_t token = begin; token < end; ++token) add_draft(pass, each, static_cast<int32_t>(token));
}

// The runs of tokens that an extension has in a pass. The tokens of a text that is alone stay together.
int64_t runs_of(const Extension& each, bool is_alone) {
  const int64_t tokens = std::ssize(each.ids);
  if (!each.parents.empty()) return tokens;
  return !is_alone && each.logit_rows > 0 && each.logit_rows < tokens ? 2 : 1;
}

void require_at_most(int64_t count, int64_t most, const char* what, const char* advice) {
  if (count > most) throw Error(what, std::to_string(count) + " of " + std::to_string(most), advice);
}

}  // namespace

// Tokens with logits come last in the pass, because the operators behind the last layer run for its last tokens alone.
// A text with tokens in both parts may become two runs.
PassTokens tokens_of_pass(std::span<const Extension> extensions) {
  PassTokens pass;
  for (const Extension& each : extensions) add(pass, each, 0, std::ssize(each.ids) - each.logit_rows);
  for (const Extension& each : extensions) {
    add(pass, each, std::ssize(each.ids) - each.logit_rows, std::ssize(each.ids));
    pass.logit_rows += each.logit_rows;
  }
  return pass;
}

int64_t segment_class(int64_t runs) { return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(runs))); }

void check_ids(std::span<const int32_t> ids, int64_t position, int64_t vocabulary, int64_t context) {
  const int64_t total = std::ssize(ids);
  TANDEM_CHECK(total > 0, "no tokens to append");
  for (int32_t id : ids) {
    if (id < 0 || id >= vocabulary) {
      throw Error("a token id is outside the vocabulary", std::to_string(id),
                  "Ids are 0 to " + std::to_string(vocabulary - 1));
    }
  }
  if (position + total > context) {
    throw Error("the context is full",
                std::to_string(position) + " tokens are in it, " + std::to_string(total) + " more do not fit into " +
                    std::to_string(context),
                "Ask for a larger one with --ctx-size");
  }
}

// Checks all extensions before any of them takes a page, so a refused pass changes nothing. A pass is bounded in three
// ways: tokens, rows of logits, and runs.
void check_extensions(std::span<const Extension> extensions, const PassLimits& limits) {
  TANDEM_CHECK(!extensions.empty() && std::ssize(extensions) <= limits.sequences,
               std::to_string(extensions.size()) + " sequences of " + std::to_string(limits.sequences) + " in a pass");
  std::set<const Sequence*> named;
  int64_t total = 0, logit_rows = 0, runs = 0;
  for (const Extension& each : extensions) {
    if (!named.insert(each.sequence).second) throw Error("a sequence is named twice in one pass", "extend");
    check_ids(each.ids, each.sequence->position(), limits.vocabulary, limits.context);
    const int64_t tokens = std::ssize(each.ids);
    TANDEM_CHECK(each.logit_rows >= 0 && each.logit_rows <= tokens, "tokens that get logits");
    if (!each.parents.empty()) check_parents(each.parents, tokens);
    // Only engines for several sequences have buffers for the paths of trees.
    if (!each.parents.empty() && limits.tree_depth == 0)
      throw Error("an engine for a single sequence takes no tree of drafts", "TextOptions::sequences is 1",
                  "Open it for two sequences or more");
    total += tokens;
    logit_rows += each.logit_rows;
    runs += runs_of(each, extensions.size() == 1);
  }
  require_at_most(runs, limits.segments, "more runs of tokens than one pass takes",
                  "Each token of a tree of drafts is one; extend by pieces");
  require_at_most(logit_rows, limits.logit_rows, "more logits than the engine was opened for", "Extend by pieces");
  require_at_most(total, limits.tokens, "more tokens than one pass takes", "Extend by pieces");
}

}  // namespace tandem
