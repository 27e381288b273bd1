// S3 and S7: the rules by which a draft follows from a match, and the paper's baselines. Pure functions of a context
// and a history.
//
// D1: the longest match is taken. D2: of equally long ones that of the context, then that of the newest record; in
// either the last one. D3: the draft is what follows. In the context it goes on with what it has drafted itself where
// the context ends, as a copy of LZ77 does; in a record it ends with it. It ends with a token that ends a text. D4: a
// shorter match than `match_min` gives no draft.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/draft/draft_history.h"
#include "engine/draft/match.h"
#include "engine/draft/suffix_automaton.h"

namespace tandem {

using IsEnd = std::function<bool(int32_t token)>;  // whether a token ends a text

struct Draft {
  Match match;
  std::vector<int32_t> tokens;
};

enum class DraftRule { sdnpu, pld, sam };
std::optional<DraftRule> draft_rule_of(std::string_view name);

// D3. end: the place of the last token that matches.
std::vector<int32_t> continuation_in_context(std::span<const int32_t> context, int32_t end, int64_t max,
                                             const IsEnd& is_end);
std::vector<int32_t> continuation_in_record(std::span<const int32_t> record, int32_t end, int64_t max,
                                            const IsEnd& is_end);

// The longest match of the context's end in the context itself.
Match longest_in_context(SuffixAutomaton& context, Occurrence which);
// D1, D2: `history` is the longest match there.
Match longer_match(const Match& context, const Match& history);

// Most tokens of a rule's draft.
int64_t most_tokens(DraftRule rule);
// The draft of this rule. match_min and is_end concern the rule `sdnpu` alone.
Draft draft_by(DraftRule rule, SuffixAutomaton& context, HistoryMatcher& matcher, const DraftHistory& history,
               int64_t max, int64_t match_min, const IsEnd& is_end);

// S3: D1 to D4.
Draft draft_by_match(SuffixAutomaton& context, HistoryMatcher& matcher, const DraftHistory& history, int64_t max,
                     int64_t match_min, const IsEnd& is_end);
// S7, PLD: for n = 3, 2, 1 the first place where the last n tokens stand and behind which all of `max` tokens stand.
inline constexpr int64_t kPldTokens = 10;
Draft draft_by_prompt_lookup(std::span<const int32_t> context, int64_t max);
// S7, SAM: the longest match, of equals the first one. A match in the history counts only if it is more than
// kSamHistoryMargin tokens longer. The draft ends where its source ends.
inline constexpr int64_t kSamTokens = 40, kSamHistoryMargin = 5;
Draft draft_by_suffix_automaton(SuffixAutomaton& context, HistoryMatcher& matcher, const DraftHistory& history,
                                int64_t max);

}  // namespace tandem
