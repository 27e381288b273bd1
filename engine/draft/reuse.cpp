#include "engine/draft/reuse.h"

#include <algorithm>
#include <utility>

#include "sync/error.h"

namespace tandem {
namespace {

// How far a and b agree from these places on.
int64_t common(std::span<const int32_t> a, int64_t from_a, std::span<const int32_t> b, int64_t from_b) {
  if (from_a >= std::ssize(a) || from_b >= std::ssize(b)) return 0;
  const auto behind_a = a.subspan(static_cast<size_t>(from_a)), behind_b = b.subspan(static_cast<size_t>(from_b));
  return std::ranges::mismatch(behind_a, behind_b).in1 - behind_a.begin();
}

}  // namespace

// A choice equals the draft as long as the draft is right. Behind the first difference, the longest run of places that
// agree again is what later steps may use.
ChainVerdict judge_chain(std::span<const int32_t> draft, std::span<const int32_t> choices) {
  TANDEM_CHECK(choices.size() == draft.size() + 1, "a choice behind each draft, and one before the first");
  ChainVerdict verdict;
  verdict.accepted = common(draft, 0, choices, 0);
  verdict.next = choices[static_cast<size_t>(verdict.accepted)];
  for (int64_t begin = verdict.accepted + 1; begin < std::ssize(draft);) {
    const int64_t length = common(draft, begin, choices, begin);
    if (length > verdict.run.length) verdict.run = {begin, length};
    begin += length + 1;
  }
  return verdict;
}

const char* to_string(Rejection rejection) {
  switch (rejection) {
    case Rejection::none:
      return "none";
    case Rejection::missing:
      return "missing";
    case Rejection::synonym:
      return "synonym";
    case Rejection::redundant:
      return "redundant";
  }
  return "";
}

// The loops begin with few inserted and few left out tokens, so the first of equally long segments is the right one.
RejectionCause rejection_cause(std::span<const int32_t> draft, std::span<const int32_t> text, int64_t accepted) {
  if (accepted >= std::ssize(draft)) return {};
  const auto longest = [&](int64_t fewest_left_out, int64_t most_left_out) {
    RejectionCause best;
    for (int64_t d = 1; d <= kMostInserted; ++d) {
      for (int64_t g = fewest_left_out; g <= most_left_out; ++g) {
        const int64_t length = common(draft, accepted + g, text, accepted + d);
        if (length > best.segment.length) best = {Rejection::none, {accepted + g, length}, d};
      }
    }
    return best;
  };
  RejectionCause missing = longest(0, 0);
  missing.rejection = Rejection::missing;
  if (missing.segment.length >= kFewestCommon) return missing;
  RejectionCause synonym = longest(1, std::ssize(draft) - accepted - 1);
  synonym.rejection = Rejection::synonym;
  if (synonym.segment.length >= kFewestCommon) return synonym;
  return {Rejection::redundant, {}, 0};
}

void ReusedRuns::begin_step(int64_t fresh_drafts) {
  // First runs that are too old go. Then the oldest ones go until fresh drafts and runs fit, but none in
  // its first step.
  ++step_;
  std::erase_if(runs_, [&](const Run& run) { return step_ - run.found > kRunSteps; });
  int64_t tokens = fresh_drafts;
  for (const Run& run : runs_) tokens += std::ssize(run.tokens);
  while (tokens > limit_ && !runs_.empty() && runs_.front().found != step_ - 1) {
    tokens -= std::ssize(runs_.front().tokens);
    runs_.pop_front();
  }
}

void ReusedRuns::add(std::vector<int32_t> tokens) {
  if (!tokens.empty()) runs_.push_back({step_, std::move(tokens)});
}

}  // namespace tandem
