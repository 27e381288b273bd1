// M4: what a pass of so many tokens takes here, when each of them gets logits.
//
// A time is a prediction of the planner, times the median of what the last passes of this width took beside theirs.
// Widths without passes take the ratio of the nearest width. The first pass of a width makes a plan, loads kernels and
// touches new memory. So a width is opened only when the passes that wanted it would have gained that cost twice:
// expected gains may not come.
//
// A width that looked slow is not chosen again, though another program may have had the cores then. So its ratio is
// forgotten when it has not run for some passes, and the next pass of it shows whether it was right. If it was, the
// width is forgotten half as often from then on.
//
// Contract: Threads: the orchestrator's. A change of the devices needs a new object, because plans and times change.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace tandem {

// A pass without the drafts that are to be chosen.
struct PassBase {
  int64_t tokens = 1;      // one of each text, and drafts that run in any case
  bool has_trees = false;  // drafts are trees. A pass without drafts has none.
};

class PassTimes {
 public:
  // The predicted time of a pass of so many tokens behind so many positions.
  using Predict = std::function<double(int64_t tokens, int64_t position, bool has_trees)>;
  // opening_seconds: what the first pass of a width takes longer than others.
  PassTimes(Predict predict, double opening_seconds)
      : predict_(std::move(predict)), opening_seconds_(opening_seconds) {}

  // T(base + n) for n = 0 to `most` drafts. position: of the longest text. only_open: infinite where the width is not
  // open. Widths that are never run are infinite in any case.
  std::vector<double> seconds(const PassBase& base, int64_t most, int64_t position, bool only_open);
  // tokens: of the whole pass.
  void learn(const PassBase& base, int64_t tokens, int64_t position, double seconds);
  // A pass of this width would have gained so many seconds, if it were open.
  void add_wish(const PassBase& base, int64_t tokens, double gained_seconds);

  // What was measured: the median time of each width that ran, with one text, by tokens.
  std::map<int64_t, double> measured() const;

 private:
  struct Width {
    bool several_texts = false, has_trees = false;
    int64_t tokens = 0;
    auto operator<=>(const Width&) const = default;
  };
  struct Known {
    std::vector<double> ratios, seconds;  // of the last passes: measured over predicted, and measured
    bool ran = false, is_open = false;
    int64_t learnt_at = 0, patience = kPatience;  // in passes
    double wished_seconds = 0;
  };
  static constexpr int64_t kPatience = 64, kMostPatience = 4096;
  bool is_forgotten(const Known& known) const { return passes_ - known.learnt_at > known.patience; }
  static Width width_of(const PassBase& base, int64_t tokens) {
    return {base.tokens > 1, base.has_trees && tokens > base.tokens, tokens};
  }
  double predicted(const Width& width, int64_t position);
  double ratio(const Width& width) const;

  Predict predict_;
  double opening_seconds_;
  int64_t passes_ = 0;  // that were learnt from
  std::map<Width, Known> widths_;
  std::map<std::pair<Width, int64_t>, double> predicted_;  // by width and page of the position
};

// Whether passes with drafts have so many tokens. Each number takes a plan of its own, so one text has powers of two.
// Drafts of several texts are fewer beside the texts' own tokens, so even numbers up to 16 are there too.
bool is_draft_width(const PassBase& base, int64_t tokens);

}  // namespace tandem
