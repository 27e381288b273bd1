// How often drafts are accepted, measured by where they come from and how long the match was.
//
// A draft's next token is tried when all tokens before it were right, also if it had no place in a pass: the text tells
// later whether it was right. So a source that is left out now can come back. Older trials count less: each class keeps
// the last kMemory or so.
//
// Contract: a value, used by one thread at a time. Probabilities are above 0 and below 1.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "engine/draft/match.h"

namespace tandem {

// A token's place in its draft, and the draft's place among others.
enum class DraftPlace {
  once,    // the first token, which followed the match once, and no other one ever did
  again,   // the same, but it followed the match several times
  newest,  // the first token, and others followed the match too
  other,   // the first token of another continuation
  later,   // a token behind the first one
};
inline constexpr int kDraftPlaces = 5;

// What a draft's token stands on.
struct DraftClass {
  DraftSource source = DraftSource::none;
  int64_t length = 0;  // tokens that match before it: those of the match, and those of the draft
  DraftPlace place = DraftPlace::newest;
};

class AcceptanceRates {
 public:
  static constexpr int kLengthClasses = 7;  // 1, 2, 3-4, 5-8, 9-16, 17-32, more
  static constexpr double kMemory = 128;    // trials
  struct Counts {
    double tried = 0, accepted = 0;  // forgetting
  };

  AcceptanceRates();
  double probability(const DraftClass& of) const;
  void add(const DraftClass& of, bool accepted);
  // All classes, in a fixed order, for a file. set_counts() takes as many; others are ignored.
  std::span<const Counts> counts() const { return counts_; }
  void set_counts(std::span<const Counts> counts);

 private:
  std::array<Counts, size_t{kDraftSources} * kLengthClasses * kDraftPlaces> counts_;
};

// 0 for a length of 1, up to AcceptanceRates::kLengthClasses - 1.
int length_class_of(int64_t length);

}  // namespace tandem
