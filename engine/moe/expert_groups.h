// N3: experts of one tier run together in one static graph, on a buffer with a slice of C rows for each of them. N8:
// limits of such a graph.
//
// Contract: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tandem/types.h"

namespace tandem {

struct ExpertGroup {
  int64_t capacity = 0;          // C: rows of each expert's slice
  std::vector<int64_t> experts;  // G of them, by falling popularity: expert i has rows [i * C, (i + 1) * C)
  int64_t rows() const { return capacity * static_cast<int64_t>(experts.size()); }
  bool operator==(const ExpertGroup&) const = default;
};

// Groups the experts of each tier in the order of popularity, in runs of G. The last run of a tier may be shorter.
// capacities: [E], 0 for experts without a place on the NPU. G is lowered to the graph's limit. If not even one expert
// fits, there are no groups.
std::vector<ExpertGroup> expert_groups(std::span<const int64_t> capacities, std::span<const int64_t> popularity,
                                       int64_t expert_bytes, const GroupOptions& options);

// How one chunk fills a layer's groups, from the number of tokens that each expert gets.
struct SlotUse {
  int64_t slots = 0;     // computed rows
  int64_t valid = 0;     // computed rows that hold a token
  int64_t overflow = 0;  // choices beyond their expert's capacity, those of experts without a place included
  double padded_share() const { return slots == 0 ? 0 : 1 - static_cast<double>(valid) / static_cast<double>(slots); }
};
SlotUse slot_use(std::span<const ExpertGroup> groups, std::span<const int64_t> loads);

}  // namespace tandem
