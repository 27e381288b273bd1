// Chooses for each expert of a layer who computes it: the GPU or the near-memory units. The other systems of the
// paper's comparison are rules here too.
#include "engine/moe/near_memory_sides.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/moe/routing_counts.h"

namespace tandem {
namespace {

double as_number(int64_t whole) { return static_cast<double>(whole); }

// The experts that somebody chose, by falling load; of equals the lower id first.
std::vector<int32_t> by_falling_load(std::span<const int64_t> loads) {
  std::vector<int32_t> active;
  for (const int64_t e : by_popularity(loads))
    if (loads[static_cast<size_t>(e)] > 0) active.push_back(static_cast<int32_t>(e));
  return active;
}

// A pass in which the GPU moves and computes everything, one expert behind the other.
double seconds_on_demand(std::span<const int64_t> loads, std::span<const int32_t> moved,
                         const NearMemoryMachine& machine) {
  double gpu = 0, link = 0;
  for (const int32_t e : moved) {
    link += machine.times.move_expert;
    gpu = std::max(gpu, link) + machine.rates.gpu_seconds(loads[static_cast<size_t>(e)]);
  }
  return gpu;
}

// All units on these experts, one behind the other, and the activations' way to them and back.
double seconds_together(std::span<const int64_t> loads, const std::vector<int32_t>& sides, int64_t tokens,
                        const NearMemoryMachine& machine) {
  double seconds = 0;
  for (size_t e = 0; e < loads.size(); ++e)
    if (loads[e] > 0 && sides[e] > 0) seconds += machine.rates.units_seconds(loads[e], machine.times.units);
  return seconds > 0 ? seconds + activation_seconds(machine.times, tokens) : 0;
}

// MoNDE: each unit on its own experts, and the slowest counts.
double seconds_whole(std::span<const int64_t> loads, const std::vector<int32_t>& sides, int64_t tokens,
                     const NearMemoryMachine& machine) {
  std::vector<double> units(static_cast<size_t>(machine.times.units), 0);
  for (size_t e = 0; e < loads.size(); ++e)
    if (loads[e] > 0 && sides[e] > 0)
      units[static_cast<size_t>(sides[e] - 1)] += machine.rates.units_seconds(loads[e], 1);
  const double slowest = std::ranges::max(units);
  return slowest > 0 ? slowest + activation_seconds(machine.times, tokens) : 0;
}

SideChoice everything_on(int32_t side, std::span<const int64_t> loads) {
  SideChoice choice;
  for (const int64_t load : loads) choice.sides.push_back(load > 0 ? side : 0);
  return choice;
}

// The GPU takes all of `moved`, and both sides begin at once.
SideChoice on_both(std::span<const int64_t> loads, std::vector<int32_t> moved, int64_t tokens,
                   const NearMemoryMachine& machine) {
  SideChoice choice = everything_on(1, loads);
  for (const int32_t e : moved) choice.sides[static_cast<size_t>(e)] = 0;
  choice.seconds =
      std::max(seconds_on_demand(loads, moved, machine), seconds_together(loads, choice.sides, tokens, machine));
  choice.moved = std::move(moved);
  return choice;
}

// On demand: every chosen expert is moved to the GPU, the busiest first.
SideChoice on_gpu_alone(std::span<const int64_t> loads, const NearMemoryMachine& machine) {
  SideChoice choice = everything_on(0, loads);
  choice.moved = by_falling_load(loads);
  choice.seconds = seconds_on_demand(loads, choice.moved, machine);
  return choice;
}

// Fiddler: the host's cores compute at the rate of their memory.
SideChoice on_processor(std::span<const int64_t> loads, const NearMemoryMachine& machine) {
  SideChoice choice = everything_on(1, loads);
  choice.seconds = as_number(std::ssize(by_falling_load(loads))) * machine.host_expert;
  return choice;
}

// MoNDE in texts: m experts go to the GPU, one by one from the busiest unit (of equals the first), there the one with
// the highest load. The least m that ends soonest.
SideChoice whole_experts(std::span<const int64_t> loads, int64_t tokens, const NearMemoryMachine& machine, bool moves) {
  SideChoice now = everything_on(1, loads);
  const std::vector<int32_t> order = by_falling_load(loads);
  std::vector<int64_t> left(static_cast<size_t>(machine.times.units), 0);
  for (const int32_t e : order) {
    const auto unit = static_cast<size_t>(e % machine.times.units);
    now.sides[static_cast<size_t>(e)] = static_cast<int32_t>(1 + unit);
    ++left[unit];
  }
  now.seconds = seconds_whole(loads, now.sides, tokens, machine);
  SideChoice best = now;
  for (size_t m = 0; moves && m < order.size(); ++m) {
    const auto busiest = std::ranges::max_element(left) - left.begin();
    const auto taken = std::ranges::find_if(
        order, [&](int32_t e) { return now.sides[static_cast<size_t>(e)] == static_cast<int32_t>(1 + busiest); });
    now.sides[static_cast<size_t>(*taken)] = 0;
    now.moved.push_back(*taken);
    --left[static_cast<size_t>(busiest)];
    now.seconds =
        std::max(seconds_on_demand(loads, now.moved, machine), seconds_whole(loads, now.sides, tokens, machine));
    if (now.seconds < best.seconds) best = now;
  }
  return best;
}

// G4, step 3: experts that the GPU holds are computed there, at most E_max of them; the others by the units.
SideChoice on_holders(std::span<const int64_t> loads, std::span<const int32_t> hits, int64_t active, int64_t tokens,
                      const NearMemoryMachine& machine) {
  SideChoice choice = everything_on(1, loads);
  const int64_t most = gpu_expert_bound(machine.times, active).used;
  double gpu = 0;
  for (const int32_t e : hits.first(static_cast<size_t>(std::min<int64_t>(most, std::ssize(hits))))) {
    choice.sides[static_cast<size_t>(e)] = 0;
    gpu += machine.rates.gpu_seconds(loads[static_cast<size_t>(e)]);
  }
  choice.seconds = std::max(gpu, seconds_together(loads, choice.sides, tokens, machine));
  return choice;
}

// Eq. 1 gives a real number of experts. The first ones by load are moved whole.
SideChoice balanced(std::span<const int64_t> loads, std::span<const int32_t> order, int64_t tokens,
                    const NearMemoryMachine& machine) {
  const ExpertBalance balance = decode_balance(machine.times, std::ssize(order));
  const auto first = [&](double m) { return std::vector<int32_t>(order.begin(), order.begin() + std::llround(m)); };
  SideChoice fewer = on_both(loads, first(std::floor(balance.on_gpu)), tokens, machine);
  SideChoice more = on_both(loads, first(std::ceil(balance.on_gpu)), tokens, machine);
  return more.seconds < fewer.seconds ? more : fewer;
}

}  // namespace

// T_a moves a token's activations to or from one unit. An expert's matrices are read once in text, so T_g and T_n are
// those of one token.
NearMemoryMachine near_memory_machine(const NearMemoryModel& model, const NearMemoryCard& card, int64_t units) {
  NearMemoryMachine machine;
  machine.experts = model.experts, machine.top_k = model.top_k;
  machine.rates = {model.expert_bytes,   model.expert_macs,          card.bytes_per_second,
                   card.macs_per_second, card.unit_bytes_per_second, card.unit_macs_per_second};
  machine.host_expert = model.expert_bytes / card.host_bytes_per_second;
  machine.times.units = units;
  machine.times.gpu_expert = machine.rates.gpu_seconds(1);
  machine.times.unit_expert = machine.rates.units_seconds(1, units);
  machine.times.move_expert = model.expert_bytes / card.link_bytes_per_second;
  machine.times.move_activation = model.activation_bytes / card.link_bytes_per_second;
  const double free = std::max(0.0, card.memory_bytes - model.other_bytes);
  const double each = model.expert_bytes * as_number(model.layers);
  machine.most_resident = each > 0 ? static_cast<int64_t>(std::min(as_number(model.experts), free / each)) : 0;
  return machine;
}

// Marks the experts that were chosen most, and never one that nobody chose.
std::vector<bool> most_used(std::span<const int64_t> counts, int64_t count) {
  std::vector<bool> chosen(counts.size(), false);
  for (const int32_t e : by_falling_load(counts)) {
    if (count-- <= 0) break;
    chosen[static_cast<size_t>(e)] = true;
  }
  return chosen;
}

// A single token or a few: each rule has its own function. Experts that the GPU holds come first if the rule
// prefetches; without a hit the rule goes on as if it did not.
SideChoice sides_of_text(std::span<const int64_t> loads, const NearMemoryMachine& machine, const NearMemoryRules& rules,
                         const std::vector<bool>& resident) {
  const std::vector<int32_t> order = by_falling_load(loads);
  const int64_t tokens = order.empty() ? 0 : std::ranges::max(loads);
  if (order.empty() || rules.shape == UnitShape::none) return on_gpu_alone(loads, machine);
  if (rules.shape == UnitShape::processor) return on_processor(loads, machine);
  if (rules.shape == UnitShape::whole) return whole_experts(loads, tokens, machine, rules.balances);
  std::vector<int32_t> hits;
  if (rules.prefetches && !resident.empty())
    std::ranges::copy_if(order, std::back_inserter(hits), [&](int32_t e) { return resident[static_cast<size_t>(e)]; });
  if (!hits.empty()) return on_holders(loads, hits, std::ssize(order), tokens, machine);
  return rules.balances ? balanced(loads, order, tokens, machine) : on_both(loads, {}, tokens, machine);
}

// Fiddler and on demand: each expert is moved once. The share of reading (a) takes experts by falling load while at
// least half of the next one's work still belongs to it.
SideChoice sides_of_prompt(std::span<const int64_t> loads, int64_t tokens, const NearMemoryMachine& machine,
                           const NearMemoryRules& rules, UnitPrompts reading) {
  const std::vector<int32_t> order = by_falling_load(loads);
  if (order.empty() || rules.shape == UnitShape::none || rules.shape == UnitShape::processor)
    return on_gpu_alone(loads, machine);
  if (rules.shape == UnitShape::whole) return whole_experts(loads, tokens, machine, false);
  if (!rules.balances) return on_both(loads, {}, tokens, machine);
  std::vector<int32_t> moved;
  if (reading == UnitPrompts::counts) {
    std::vector<int64_t> active;
    for (const int32_t e : order) active.push_back(loads[static_cast<size_t>(e)]);
    const size_t on_gpu = split_by_counts(active, machine.times, machine.rates, tokens).on_gpu.size();
    moved.assign(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(on_gpu));
  } else {
    double left = 0;
    for (const int64_t load : loads) left += as_number(load);
    left *= prefill_share(machine.times, machine.top_k);
    for (const int32_t e : order) {
      const double load = as_number(loads[static_cast<size_t>(e)]);
      if (load / 2 > left) break;
      left -= load;
      moved.push_back(e);
    }
  }
  return on_both(loads, std::move(moved), tokens, machine);
}

// Layers appear when they are first asked for, so nobody needs to know their number before.
NearMemorySides::Layer& NearMemorySides::layer_of(int64_t layer) {
  const auto at = static_cast<size_t>(layer);
  if (layers_.size() <= at) layers_.resize(at + 1);
  Layer& found = layers_[at];
  found.counts.resize(static_cast<size_t>(machine_.experts), 0);
  return found;
}

// Between a prompt and its text. Experts that stay since the last text are copied again, as the paper counts.
void NearMemorySides::prefetch(Layer& layer) {
  const int64_t most = options_.prefetch == UnitPrefetch::fill ? machine_.most_resident
                                                               : std::min(machine_.most_resident, machine_.top_k);
  layer.resident = most_used(layer.counts, most);
  const int64_t copied = std::ranges::count(layer.resident, true);
  of_text_.prefetched += copied;
  of_text_.copy_seconds += as_number(copied) * machine_.times.move_expert;
}

// Chooses the sides of one layer in one pass and adds the pass to the totals. A prompt counts uses, and the first pass
// of the text behind it prefetches by those counts.
void NearMemorySides::divide(const DivideRequest& request, std::span<int32_t> sides) {
  Layer& layer = layer_of(request.layer);
  const bool prompt = request.tokens >= kFewestPromptTokens;
  if (prompt && std::exchange(layer.in_text, false)) std::ranges::fill(layer.counts, 0);
  if (prompt)
    for (size_t e = 0; e < layer.counts.size(); ++e) layer.counts[e] += request.loads[e];
  if (!prompt && !std::exchange(layer.in_text, true) && rules_.prefetches) prefetch(layer);
  const SideChoice choice = prompt ? sides_of_prompt(request.loads, request.tokens, machine_, rules_, options_.prompts)
                                   : sides_of_text(request.loads, machine_, rules_, layer.resident);
  std::ranges::copy(choice.sides, sides.begin());
  SideTotals& totals = prompt ? of_prompts_ : of_text_;
  int64_t on_gpu = 0, copied = 0;
  for (size_t e = 0; e < choice.sides.size(); ++e)
    (choice.sides[e] == 0 ? on_gpu : totals.on_units) += request.loads[e];
  for (const int32_t e : choice.moved) copied += request.loads[static_cast<size_t>(e)];
  totals.on_gpu += on_gpu;
  totals.hits += on_gpu - copied;
  totals.moved += std::ssize(choice.moved);
  totals.seconds += choice.seconds;
}

}  // namespace tandem
