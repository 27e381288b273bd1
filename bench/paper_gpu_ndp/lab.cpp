// Runs the paper's engines on its machine, over made-up traffic, with the same functions as the engine's own rules.
#include "bench/paper_gpu_ndp/lab.h"

#include <algorithm>
#include <iterator>

namespace tandem::paper_gpu_ndp {
namespace {

// Counts become doubles here, as times are.
double in_number(int64_t whole) { return static_cast<double>(whole); }

// Experts without tokens cost nothing in any engine.
std::vector<int64_t> active_loads(const std::vector<int64_t>& loads) {
  std::vector<int64_t> active;
  std::ranges::copy_if(loads, std::back_inserter(active), [](int64_t load) { return load > 0; });
  return active;
}

// G2: each expert in turn on all units.
double tensor_parallel(const NearMemoryTimes& times, const NearMemoryRates& rates, const std::vector<int64_t>& loads) {
  double seconds = activation_seconds(times, kPromptTokens);
  for (const int64_t load : loads) seconds += rates.units_seconds(load, times.units);
  return seconds;
}

// The busiest unit's experts, one after another.
double expert_parallel(const NearMemoryRates& rates, const std::vector<int64_t>& loads, int64_t units) {
  std::vector<double> of_units(static_cast<size_t>(units));
  for (size_t expert = 0; expert < loads.size(); ++expert)
    if (loads[expert] > 0) of_units[expert % of_units.size()] += rates.units_seconds(loads[expert], 1);
  return std::ranges::max(of_units);
}

// The number of experts on the GPU is the one that ends soonest. Each comes from the unit that is busiest then.
double monde_token(const NearMemoryTimes& times, const RoutedToken& token) {
  std::vector<int64_t> counts = cyclic_counts(token.experts, times.units);
  const double on_one_unit = times.unit_expert * in_number(times.units);
  double least = -1;
  for (int64_t moved = 0; moved <= std::ssize(token.experts); ++moved) {
    const double units = in_number(std::ranges::max(counts)) * on_one_unit;
    const double gpu = moved == 0 ? 0 : in_number(moved) * times.move_expert + times.gpu_expert;
    if (least < 0 || std::max(units, gpu) < least) least = std::max(units, gpu);
    --*std::ranges::max_element(counts);
  }
  return least + 2 * times.move_activation;
}

// Eq. 1's balance: the units' side.
double balanced_token(const NearMemoryTimes& times, int64_t active) {
  return activation_seconds(times) + times.unit_expert * decode_balance(times, active).on_units;
}

// G4: resident experts on the GPU, at most Eq. 3's number, the others on the units.
double prefetched_token(const NearMemoryTimes& times, int64_t active, int64_t hits) {
  const int64_t on_gpu = std::min(hits, gpu_expert_bound(times, active).used);
  return std::max(in_number(on_gpu) * times.gpu_expert,
                  activation_seconds(times) + in_number(active - on_gpu) * times.unit_expert);
}

// Seconds of one token in one layer. Each engine adds a part of the paper (G2 to G4) to the one before. `resident`
// experts of the layer are on the GPU, the most popular ones first.
double seconds_of_token(const NearMemoryTimes& times, const NdpMachine& machine, NdpModel model,
                        const RoutedToken& token, NdpEngine engine, int64_t resident) {
  const int64_t active = std::ssize(token.experts);
  const int64_t hits = std::ranges::count_if(token.ranks, [&](int64_t rank) { return rank < resident; });
  switch (engine) {
    case NdpEngine::on_demand:
      return in_number(active) * times.move_expert + times.gpu_expert;
    case NdpEngine::fiddler:
      return in_number(active) * size_of(model).expert_bytes() / machine.cpu_bytes_per_second;
    case NdpEngine::monde:
      return monde_token(times, token);
    case NdpEngine::tp:
      return prefetched_token(times, active, 0);
    case NdpEngine::tp_lb:
      return balanced_token(times, active);
    case NdpEngine::tp_pre:
      return prefetched_token(times, active, hits);
    case NdpEngine::all:
    case NdpEngine::by_counts:
      break;
  }
  return hits == 0 ? balanced_token(times, active) : prefetched_token(times, active, hits);
}

}  // namespace

// Expert e lies in unit e modulo N, as MoNDE places them.
std::vector<int64_t> cyclic_counts(const std::vector<int64_t>& experts, int64_t units) {
  std::vector<int64_t> counts(static_cast<size_t>(units));
  for (const int64_t expert : experts) ++counts[static_cast<size_t>(expert % units)];
  return counts;
}

// Routing is drawn once for each model, so all engines see the same tokens.
const Traffic& Lab::traffic(NdpModel model) {
  const auto known = traffic_.find(model);
  if (known != traffic_.end()) return known->second;
  return traffic_[model] = drawn_traffic(model, skew_);
}

// Mean seconds of a prompt in one layer, over drawn prompts. On demand, the copies of all active experts bound the
// time; with units, `share` of the tokens is the GPU's (G3).
double Lab::prompt_seconds(NdpModel model, int64_t units, NdpEngine engine) {
  const NearMemoryTimes times = times_of(machine_, model, units);
  const NearMemoryRates rates = rates_of(machine_, model);
  const double share = prefill_share(times, size_of(model).active());
  double sum = 0;
  const std::vector<std::vector<int64_t>>& prompts = traffic(model).prompts;
  for (const std::vector<int64_t>& loads : prompts) {
    const std::vector<int64_t> active = active_loads(loads);
    switch (engine) {
      case NdpEngine::on_demand:
      case NdpEngine::fiddler:
        sum += in_number(std::ssize(active)) * times.move_expert + rates.gpu_seconds(active.back());
        break;
      case NdpEngine::monde:
        sum += expert_parallel(rates, loads, units);
        break;
      case NdpEngine::tp:
      case NdpEngine::tp_pre:
        sum += tensor_parallel(times, rates, active);
        break;
      case NdpEngine::tp_lb:
      case NdpEngine::all:
        sum += (1 - share) * tensor_parallel(times, rates, active);
        break;
      case NdpEngine::by_counts:
        sum += split_by_counts(active, times, rates, kPromptTokens).seconds;
        break;
    }
  }
  return sum / in_number(std::ssize(prompts));
}

double Lab::token_seconds(NdpModel model, int64_t units, NdpEngine engine, int64_t resident) {
  const NearMemoryTimes times = times_of(machine_, model, units);
  double sum = 0;
  const std::vector<RoutedToken>& tokens = traffic(model).tokens;
  for (const RoutedToken& token : tokens) sum += seconds_of_token(times, machine_, model, token, engine, resident);
  return sum / in_number(std::ssize(tokens));
}

// GF14 and GF15 prefetch as many experts as a token uses.
double Lab::token_seconds(NdpModel model, int64_t units, NdpEngine engine) {
  return token_seconds(model, units, engine, ablation_prefetch(machine_, model));
}

// Everything else is bound by reading its weights, once for the prompt and once for each token.
double Lab::run_seconds(NdpModel model, int64_t units, NdpEngine engine) {
  const NdpModelSize& size = size_of(model);
  const int64_t resident = fill_of(machine_, model);
  const double experts =
      prompt_seconds(model, units, engine) + in_number(kOutputTokens) * token_seconds(model, units, engine, resident);
  const double others = size.other_bytes / machine_.gpu_bytes_per_second * in_number(1 + kOutputTokens);
  const bool copies = engine >= NdpEngine::tp_pre;
  const double copy = copies ? in_number(resident) * times_of(machine_, model, units).move_expert : 0;
  return in_number(size.layers) * (experts + copy) + others;
}

}  // namespace tandem::paper_gpu_ndp
