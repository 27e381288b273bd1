#include "bench/paper_sdnpu/worked.h"

#include <algorithm>
#include <array>
#include <vector>

namespace tandem::paper_sdnpu {
namespace {

using Tokens = std::vector<int32_t>;

// A rejected draft, and what the text became in its place.
struct Rejected {
  Tokens draft, text;
};

// Table 2 has two drafts of the first class, three of the second and eight of the third.
const std::array<Rejected, kDraftsOfTable2>& rejected_drafts() {
  static const std::array<Rejected, kDraftsOfTable2> drafts{{
      // The text has one, two words more.
      {{1, 2, 3, 4}, {1, 2, 90, 3, 4}},
      {{1, 2, 3, 4}, {90, 91, 1, 2, 3}},
      // The text has other words, and then goes on with the draft.
      {{1, 2, 3, 4}, {90, 2, 3, 4, 5}},
      {{1, 2, 3, 4}, {1, 90, 91, 3, 4}},
      {{1, 2, 3, 4, 5}, {1, 90, 4, 5, 6}},
      // The text goes on without the draft, or has a single word of it.
      {{1, 2, 3, 4}, {90, 91, 92, 93}},
      {{1, 2, 3, 4}, {1, 90, 91, 92}},
      {{1, 2, 3, 4}, {1, 2, 90, 91}},
      {{1, 2, 3, 4}, {1, 2, 3, 90}},
      {{1, 2, 3, 4}, {1, 2, 90, 4}},
      {{1, 2, 3, 4}, {90, 3, 91, 4}},
      {{1, 2}, {90}},
      {{1, 2, 3, 4}, {1, 2, 90, 91, 92, 93, 94, 95, 96, 97, 98, 3, 4}},
  }};
  return drafts;
}

// The place of rejection is the first difference of both.
Rejection cause_of(const Rejected& rejected) {
  const auto [end, other] = std::ranges::mismatch(rejected.draft, rejected.text);
  return rejection_cause(rejected.draft, rejected.text, end - rejected.draft.begin()).rejection;
}

}  // namespace

// Six equal blocks of two chunks, as in Fig. 8.
SwitchSchedule schedule_of_fig8() {
  const std::vector<int64_t> block(6, 10), load(6, 20);
  return progressive_schedule({2, block, block, load});
}

int64_t drafts_of_table2(Rejection rejection) { return std::ranges::count(rejected_drafts(), rejection, cause_of); }

}  // namespace tandem::paper_sdnpu
