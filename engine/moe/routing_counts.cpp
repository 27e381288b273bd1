// Counts of choices, by layer and expert, and what follows from them: popularity, imbalance and overlap.
#include "engine/moe/routing_counts.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "sync/error.h"

namespace tandem {

RoutingCounts empty_counts(int64_t experts, int64_t used, std::vector<int64_t> layers) {
  RoutingCounts counts{experts, used, 0, std::move(layers), {}};
  counts.counts.assign(counts.layers.size(), ExpertCounts(static_cast<size_t>(experts)));
  return counts;
}

// Ids come from files and devices. One out of range would write outside of the counts, so each is checked.
void count_choices(RoutingCounts& counts, size_t at, std::span<const int32_t> ids) {
  for (const int32_t id : ids) {
    if (id < 0 || id >= counts.experts)
      throw Error("a token goes to an expert that is not there", "layer " + std::to_string(counts.layers[at]) +
                                                                     ": expert " + std::to_string(id) + " of " +
                                                                     std::to_string(counts.experts));
    ++counts.counts[at][static_cast<size_t>(id)];
  }
}

void require_experts(const RoutingCounts& counts, int64_t E, int64_t k, const std::string& of) {
  if (counts.experts == E && counts.used == k) return;
  const auto text = [](int64_t some, int64_t all) { return std::to_string(some) + " of " + std::to_string(all); };
  throw Error("counts of other experts", of,
              "They are of " + text(counts.used, counts.experts) + " experts, those of the model are " + text(k, E));
}

// Adds counts of the same layers and experts.
RoutingCounts sum_of(const RoutingCounts& a, const RoutingCounts& b) {
  if (a.experts != b.experts || a.used != b.used || a.layers != b.layers)
    throw Error("counts of two models cannot be added",
                std::to_string(a.experts) + " experts in " + std::to_string(a.layers.size()) + " layers, and " +
                    std::to_string(b.experts) + " in " + std::to_string(b.layers.size()));
  RoutingCounts sum = a;
  sum.tokens += b.tokens;
  for (size_t l = 0; l < sum.counts.size(); ++l)
    std::ranges::transform(a.counts[l], b.counts[l], sum.counts[l].begin(), std::plus{});
  return sum;
}

// The largest count over the mean count.
double imbalance(std::span<const int64_t> counts) {
  const auto total = static_cast<double>(std::reduce(counts.begin(), counts.end()));
  if (total == 0) return 0;
  return static_cast<double>(*std::ranges::max_element(counts)) * static_cast<double>(counts.size()) / total;
}

// Experts with equal counts keep the order of their numbers, so the result is the same everywhere.
std::vector<int64_t> by_popularity(std::span<const int64_t> counts) {
  std::vector<int64_t> experts(counts.size());
  std::iota(experts.begin(), experts.end(), 0);
  std::ranges::stable_sort(experts, [counts](int64_t a, int64_t b) {
    return counts[static_cast<size_t>(a)] > counts[static_cast<size_t>(b)];
  });
  return experts;
}

// Compares the heads of the two orders of popularity.
double overlap(std::span<const int64_t> a, std::span<const int64_t> b, int64_t K) {
  TANDEM_CHECK(K > 0 && a.size() == b.size() && std::cmp_less_equal(K, a.size()), "Overlap@K of two counts");
  auto top_a = by_popularity(a), top_b = by_popularity(b);
  top_a.resize(static_cast<size_t>(K));
  const auto end = top_b.begin() + K;
  const auto shared = std::ranges::count_if(top_a, [&](int64_t e) { return std::find(top_b.begin(), end, e) != end; });
  return static_cast<double>(shared) / static_cast<double>(K);
}

// A median over the layers, so that a few odd layers do not decide.
double overlap_on(const RoutingCounts& calibration, std::span<const RoutingCounts> prompts, int64_t K) {
  if (prompts.empty()) return 0;
  std::vector<double> of_layers;
  for (size_t l = 0; l < calibration.counts.size(); ++l) {
    double sum = 0;
    for (const RoutingCounts& prompt : prompts) sum += overlap(calibration.counts[l], prompt.counts[l], K);
    of_layers.push_back(sum / static_cast<double>(prompts.size()));
  }
  std::ranges::sort(of_layers);
  const size_t middle = of_layers.size() / 2;
  return of_layers.size() % 2 == 1 ? of_layers[middle] : (of_layers[middle - 1] + of_layers[middle]) / 2;
}

// The share of an expert in the counted tokens, applied to a batch of B tokens.
double expected_load(int64_t count, int64_t tokens, int64_t B) {
  return tokens == 0 ? 0 : static_cast<double>(B) * static_cast<double>(count) / static_cast<double>(tokens);
}

}  // namespace tandem
