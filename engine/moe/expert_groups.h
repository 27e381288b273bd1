// N3: experts of one tier run together in one static graph, over a buffer with a slice of C rows for each of them; and
// N8: what bounds such a graph.
//
// Contract: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tandem {

struct ExpertGroup {
  int64_t capacity = 0;          // C: rows of each expert's slice
  std::vector<int64_t> experts;  // G of them, by falling popularity: expert i has rows [i * C, (i + 1) * C)
  int64_t rows() const { return capacity * static_cast<int64_t>(experts.size()); }
  bool operator==(const ExpertGroup&) const = default;
};

struct GroupOptions {
  int64_t largest_group = 8;                          // G
  int64_t largest_graph_bytes = int64_t{1200} << 20;  // N8: of weights; a graph of more runs elsewhere
};

// capacities: [E], 0 for experts that have no place on the NPU. Experts of a tier in the order of popularity, cut in
// runs of G; the last run of a tier may be shorter. G is lowered to what the graph's limit allows, and no group is
// made where not even one expert fits.
std::vector<ExpertGroup> expert_groups(std::span<const int64_t> capacities, std::span<const int64_t> popularity,
                                       int64_t expert_bytes, const GroupOptions& options);

// What one chunk makes of a layer's groups, from how many tokens each expert gets.
struct SlotUse {
  int64_t slots = 0;     // rows that are computed
  int64_t valid = 0;     // of them, those that hold a token
  int64_t overflow = 0;  // choices beyond their expert's capacity, those of experts without any included
  double padded_share() const { return slots == 0 ? 0 : 1 - static_cast<double>(valid) / static_cast<double>(slots); }
};
SlotUse slot_use(std::span<const ExpertGroup> groups, std::span<const int64_t> loads);

}  // namespace tandem
