// The equations of GPU-NDP (G1 to G4) on real numbers, before anything is rounded to whole experts.
#include "engine/moe/near_memory.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "sync/error.h"

namespace tandem {
namespace {

double in_number(int64_t whole) { return static_cast<double>(whole); }

// Solves T_w E_g + T_g E_g' + more = (N + 1) T_a + T_n (k - E_g). E_g is m + f with a whole m and 0 < f <= 1, and E_g'
// is f / N. The first m with such an f counts. Before all of them the GPU gets nothing, behind them everything.
ExpertBalance balance_of(const NearMemoryTimes& times, int64_t k, double more) {
  const double slope = times.move_expert + times.unit_expert + times.gpu_expert / in_number(times.units);
  const double known = activation_seconds(times) - more;
  for (int64_t m = 0; m < k; ++m) {
    const double f = (known + times.unit_expert * in_number(k - m) - times.move_expert * in_number(m)) / slope;
    if (f <= 0) return {in_number(m), in_number(k - m)};
    if (f <= 1) return {in_number(m) + f, in_number(k - m) - f};
  }
  return {in_number(k), 0};
}

std::vector<size_t> ids_by_falling_load(std::span<const int64_t> loads) {
  std::vector<size_t> order(loads.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return loads[a] > loads[b]; });
  return order;
}

}  // namespace

// A token's activations go to each unit, and one result comes back. Further tokens only add the way to the units.
double activation_seconds(const NearMemoryTimes& times, int64_t tokens) {
  return in_number(times.units + 1) * times.move_activation +
         in_number(tokens - 1) * in_number(times.units) * times.move_activation;
}

// The units together must hold all experts, because each expert is spread over all of them.
bool units_hold(int64_t units, double unit_bytes, double experts_bytes) {
  return in_number(units) * unit_bytes >= experts_bytes;
}

// The first units get one feature more if the number does not divide.
std::vector<int64_t> features_of_units(int64_t I, int64_t units) {
  TANDEM_CHECK(units > 0, "features of no unit");
  std::vector<int64_t> features(static_cast<size_t>(units), I / units);
  for (size_t unit = 0; unit < static_cast<size_t>(I % units); ++unit) ++features[unit];
  return features;
}

ExpertBalance decode_balance(const NearMemoryTimes& times, int64_t top_k) { return balance_of(times, top_k, 0); }

ExpertBalance prefill_balance(const NearMemoryTimes& times, int64_t top_k, int64_t prompt) {
  return balance_of(times, top_k, in_number(prompt - 1) * times.move_activation * in_number(times.units));
}

double prefill_share(const NearMemoryTimes& times, int64_t top_k) {
  return decode_balance(times, top_k).on_gpu / in_number(top_k);
}

GpuExpertBound gpu_expert_bound(const NearMemoryTimes& times, int64_t top_k) {
  GpuExpertBound bound;
  bound.real =
      (in_number(top_k) * times.unit_expert + activation_seconds(times)) / (times.gpu_expert + times.unit_expert);
  // Compared before it is cut, because a bound beyond the range of whole numbers is possible.
  bound.used = bound.real >= in_number(top_k) ? top_k : std::max<int64_t>(1, static_cast<int64_t>(bound.real));
  return bound;
}

// A roofline: reading the expert or computing its tokens, whichever takes longer.
double NearMemoryRates::gpu_seconds(int64_t tokens) const {
  return std::max(expert_bytes / gpu_bytes_per_second, in_number(tokens) * expert_macs / gpu_macs_per_second);
}

double NearMemoryRates::units_seconds(int64_t tokens, int64_t units) const {
  return std::max(expert_bytes / (in_number(units) * unit_bytes_per_second),
                  in_number(tokens) * expert_macs / (in_number(units) * unit_macs_per_second));
}

// Tries every number m of experts on the GPU, by falling load. The units' time of the experts that are left falls with
// m, and the GPU's grows, so each is summed from its own end. Moving m experts hides behind computing them, and the
// later of both counts.
CountedSplit split_by_counts(std::span<const int64_t> loads, const NearMemoryTimes& times, const NearMemoryRates& rates,
                             int64_t prompt) {
  for (size_t i = 0; i < loads.size(); ++i)
    if (loads[i] < 1) throw Error("an expert without tokens", "expert " + std::to_string(i), "Loads begin with 1");
  const std::vector<size_t> order = ids_by_falling_load(loads);
  std::vector<double> units(order.size() + 1);  // [m]: of all but the first m
  for (size_t m = order.size(); m-- > 0;) units[m] = units[m + 1] + rates.units_seconds(loads[order[m]], times.units);
  const double activations = activation_seconds(times, prompt);
  size_t best = 0;
  double gpu = 0, least = 0;
  for (size_t m = 0; m <= order.size(); ++m) {
    if (m > 0)
      gpu = std::max(gpu, in_number(static_cast<int64_t>(m)) * times.move_expert) +
            rates.gpu_seconds(loads[order[m - 1]]);
    const double end = std::max(gpu, m < order.size() ? units[m] + activations : 0);
    if (m > 0 && end >= least) continue;
    least = end;
    best = m;
  }
  return {{order.begin(), order.begin() + static_cast<std::ptrdiff_t>(best)}, least};
}

}  // namespace tandem
