// Y1: whether the passes of a text hand copies of experts to the link. A hand-over costs time in each layer, even if
// nothing is copied, and small experts do not pay for it.
//
// The laws of cost say what the experts of a pass are expected to take with the link and without it. If the link is
// expected to win, it is tried, and measured times then decide, unless it saves so much that no measurement is needed.
// It is tried again now and then, because texts, caches and other programs change. The more often it has lost, the
// later it is tried again.
//
// Contract: a value without a clock. uses_link() says how the next pass runs; took() gets the time of that pass.
#pragma once

#include <cstdint>
#include <vector>

namespace tandem {

// Expected seconds of a pass's experts.
struct ExpectedExperts {
  double with_link = 0, without = 0;
};

// Passes of each period (LinkChoice). Prompts are fewer than tokens of a text, and each is a better measurement.
struct LinkPeriods {
  int64_t trial, check;
  int64_t first_away, away_behind_trial, away_without_gain, stay;
};
inline constexpr LinkPeriods kPeriodsOfText{12, 4, 4, 128, 1024, 256}, kPeriodsOfPrompts{3, 2, 2, 16, 64, 32};

class LinkChoice {
 public:
  explicit LinkChoice(const LinkPeriods& periods = kPeriodsOfText);
  // expected: of the first pass. If the link is expected to save much, the text begins with it.
  void begin(const ExpectedExperts& expected);
  bool uses_link() const { return uses_; }
  bool is_settled() const { return period_ == Period::stay; }  // with the link, for longer than a trial
  // The present way is tried, or the other one is looked at again.
  bool is_trying() const { return period_ == Period::trial || period_ == Period::check; }
  // expected: by the laws, for the experts of this pass. seconds: of the whole pass. If passes differ in length, both
  // count seconds of a token.
  void took(const ExpectedExperts& expected, double seconds);

 private:
  // away: without the link. trial: with it, until both ways can be compared. stay: with it. check: without it for a
  // moment, to compare again.
  enum class Period { away, trial, stay, check };
  bool is_over() const;
  void begin(Period period);
  double median_of_period() const;

  LinkPeriods periods_;
  Period period_ = Period::away;
  bool uses_ = false;
  int64_t passes_ = 0;  // of this period
  double gain_ = 0;     // expected seconds that the link saves, a running mean
  bool knows_gain_ = false;
  std::vector<double> seconds_;    // of the latest passes of this period, but for the first
  double with_ = 0, without_ = 0;  // medians of the latest periods
  // Passes of the next periods. A lost trial doubles the first two, and a won check the last.
  int64_t away_, away_without_gain_, stay_;
};

}  // namespace tandem
