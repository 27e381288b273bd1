#include "engine/draft/drafting.h"

#include <algorithm>
#include <utility>

#include "engine/draft/token_tree.h"

namespace tandem {
namespace {

// A caller without a rule for ends has none.
bool ends_text(const IsEnd& is_end, int32_t token) { return is_end && is_end(token); }

Draft draft_of(const Match& match, std::vector<int32_t> tokens) {
  if (tokens.empty()) return {};
  return {match, std::move(tokens)};
}

// The tokens behind a place, as many as there are.
std::vector<int32_t> next_tokens(std::span<const int32_t> tokens, int32_t end, int64_t max) {
  const auto behind = tokens.subspan(static_cast<size_t>(end) + 1);
  const auto some = behind.first(std::min(behind.size(), static_cast<size_t>(max)));
  return {some.begin(), some.end()};
}

}  // namespace

std::optional<DraftRule> draft_rule_of(std::string_view name) {
  if (name == "sdnpu") return DraftRule::sdnpu;
  if (name == "pld") return DraftRule::pld;
  if (name == "sam") return DraftRule::sam;
  return std::nullopt;
}

// The rules differ in how long a draft may be, and buffers are made for the longest one.
int64_t most_tokens(DraftRule rule) {
  switch (rule) {
    case DraftRule::sdnpu:
      return kMostCandidateTokens;
    case DraftRule::pld:
      return kPldTokens;
    case DraftRule::sam:
      return kSamTokens;
  }
  return 0;
}

// sdnpu is the method of the paper. The other two are baselines for comparison: prompt lookup decoding (pld) and
// SAM decoding (sam).
Draft draft_by(DraftRule rule, SuffixAutomaton& context, HistoryMatcher& matcher, const DraftHistory& history,
               int64_t max, int64_t match_min, const IsEnd& is_end) {
  switch (rule) {
    case DraftRule::sdnpu:
      return draft_by_match(context, matcher, history, max, match_min, is_end);
    case DraftRule::pld:
      return draft_by_prompt_lookup(context.tokens(), max);
    case DraftRule::sam:
      return draft_by_suffix_automaton(context, matcher, history, max);
  }
  return {};
}

// D3: a continuation may run past the text's end and then reads the draft itself: a text that repeats a phrase goes on
// repeating it. It ends with an end token.
std::vector<int32_t> continuation_in_context(std::span<const int32_t> context, int32_t end, int64_t max,
                                             const IsEnd& is_end) {
  std::vector<int32_t> draft;
  draft.reserve(static_cast<size_t>(std::clamp<int64_t>(max, 0, kMostCandidateTokens)));
  for (size_t place = static_cast<size_t>(end) + 1; std::ssize(draft) < max; ++place) {
    const int32_t token = place < context.size() ? context[place] : draft[place - context.size()];
    draft.push_back(token);
    if (ends_text(is_end, token)) break;
  }
  return draft;
}

// D3: a record ends where it ends, since nothing is known of what follows it.
std::vector<int32_t> continuation_in_record(std::span<const int32_t> record, int32_t end, int64_t max,
                                            const IsEnd& is_end) {
  std::vector<int32_t> draft = next_tokens(record, end, max);
  const auto last = std::ranges::find_if(draft, [&](int32_t token) { return ends_text(is_end, token); });
  if (last != draft.end()) draft.erase(last + 1, draft.end());
  return draft;
}

// The longest suffix of the text that also stands earlier in it, and one of its places there.
Match longest_in_context(SuffixAutomaton& context, Occurrence which) {
  const int32_t state = context.repeated();
  if (state == SuffixAutomaton::kRoot) return {};
  const int32_t end = which == Occurrence::last ? context.last_end(state) : context.first_end(state);
  return {DraftSource::context, context.length(state), -1, end};
}

// D2: a match in the text itself wins over one of equal length in the history.
Match longer_match(const Match& context, const Match& history) {
  return history.length > context.length ? history : context;
}

// D1 and D4: the longest match decides, and its latest occurrence. A match that is too short gives no draft.
Draft draft_by_match(SuffixAutomaton& context, HistoryMatcher& matcher, const DraftHistory& history, int64_t max,
                     int64_t match_min, const IsEnd& is_end) {
  const Match match =
      longer_match(longest_in_context(context, Occurrence::last), matcher.longest(context.tokens(), Occurrence::last));
  if (match.length < std::max<int64_t>(match_min, 1)) return {};
  return draft_of(match, match.source == DraftSource::context
                             ? continuation_in_context(context.tokens(), match.end, max, is_end)
                             : continuation_in_record(history.record(match.record), match.end, max, is_end));
}

// The last three tokens are looked up first, then two and one. The first place that has enough tokens behind it counts.
Draft draft_by_prompt_lookup(std::span<const int32_t> context, int64_t max) {
  const int64_t tokens = std::ssize(context);
  for (int64_t n = std::min<int64_t>(3, tokens); n > 0 && max > 0; --n) {
    const auto last = context.last(static_cast<size_t>(n));
    for (int64_t begin = 0; begin + n + max <= tokens; ++begin) {
      if (!std::ranges::equal(context.subspan(static_cast<size_t>(begin), static_cast<size_t>(n)), last)) continue;
      const auto end = static_cast<int32_t>(begin + n - 1);
      return draft_of({DraftSource::context, static_cast<int32_t>(n), -1, end}, next_tokens(context, end, max));
    }
  }
  return {};
}

// The history counts only if its match is longer by a margin.
Draft draft_by_suffix_automaton(SuffixAutomaton& context, HistoryMatcher& matcher, const DraftHistory& history,
                                int64_t max) {
  const Match here = longest_in_context(context, Occurrence::first),
              earlier = matcher.longest(context.tokens(), Occurrence::first);
  if (earlier.length > here.length + kSamHistoryMargin)
    return draft_of(earlier, next_tokens(history.record(earlier.record), earlier.end, max));
  if (here.length == 0) return {};
  return draft_of(here, next_tokens(context.tokens(), here.end, max));
}

}  // namespace tandem
