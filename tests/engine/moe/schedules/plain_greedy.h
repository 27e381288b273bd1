// HybriMoE's greedy schedule (Y2) in plain loops over lists, to compare with.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "engine/moe/schedules/layer_experts.h"
#include "engine/moe/schedules/schedule.h"

namespace tandem::testing {

struct LayerCase {
  std::vector<int64_t> loads;
  std::vector<int32_t> cached;
  ExpertCosts costs;
  double cpu(int32_t id) const {
    return costs.cpu_fixed + costs.cpu_per_token * static_cast<double>(loads[static_cast<size_t>(id)]);
  }
  double gpu(int32_t id) const {
    return costs.gpu_fixed + costs.gpu_per_token * static_cast<double>(loads[static_cast<size_t>(id)]);
  }
  LayerExperts layer() const { return {loads, cached, costs}; }
};

inline std::vector<ExpertSpan> plain_greedy(const LayerCase& of) {
  struct Queued {
    int32_t id;
    double arrival;
    bool was_cached;
  };
  const auto load = [&](int32_t id) { return of.loads[static_cast<size_t>(id)]; };
  std::vector<Queued> gpu_queue;
  std::vector<int32_t> cpu_queue;
  for (int32_t id = 0; id < std::ssize(of.loads); ++id) {
    if (std::ranges::find(of.cached, id) != of.cached.end())
      gpu_queue.push_back({id, 0, true});
    else
      cpu_queue.push_back(id);
  }
  double gpu = of.costs.gpu_offset, cpu = 0, link = 0;
  bool cpu_began = false;
  std::vector<ExpertSpan> spans;
  const auto run_on_cpu = [&](int32_t id) {
    const double end = cpu + of.cpu(id) + (cpu_began ? 0 : of.costs.cpu_first);
    spans.push_back({ExpertLane::cpu, id, cpu, end});
    cpu = end;
    cpu_began = true;
  };
  const auto gpu_acts = [&] {
    if (gpu_queue.empty()) return false;
    int best = -1;
    double first_arrival = std::numeric_limits<double>::infinity();
    for (int i = 0; i < std::ssize(gpu_queue); ++i) {
      const Queued& each = gpu_queue[static_cast<size_t>(i)];
      first_arrival = std::min(first_arrival, each.arrival);
      if (each.arrival > gpu) continue;
      if (best < 0) best = i;
      const Queued& so_far = gpu_queue[static_cast<size_t>(best)];
      if (load(each.id) > load(so_far.id) || (load(each.id) == load(so_far.id) && each.id < so_far.id)) best = i;
    }
    if (best < 0) {
      gpu = first_arrival;
      return true;
    }
    const Queued taken = gpu_queue[static_cast<size_t>(best)];
    gpu_queue.erase(gpu_queue.begin() + best);
    spans.push_back({ExpertLane::gpu, taken.id, gpu, gpu + of.gpu(taken.id)});
    gpu += of.gpu(taken.id);
    return true;
  };
  const auto gpu_through = [&] {
    std::vector<Queued> order = gpu_queue;
    std::ranges::sort(order, [&](const Queued& a, const Queued& b) {
      if (a.arrival != b.arrival) return a.arrival < b.arrival;
      return load(a.id) != load(b.id) ? load(a.id) > load(b.id) : a.id < b.id;
    });
    double end = gpu;
    for (const Queued& each : order) end = std::max(end, each.arrival) + of.gpu(each.id);
    return end;
  };
  const auto cpu_acts = [&] {
    if (!cpu_queue.empty()) {
      const auto lowest = std::ranges::min_element(
          cpu_queue, [&](int32_t a, int32_t b) { return load(a) != load(b) ? load(a) < load(b) : a < b; });
      const int32_t id = *lowest;
      cpu_queue.erase(lowest);
      run_on_cpu(id);
      return true;
    }
    int best = -1;
    for (int i = 0; i < std::ssize(gpu_queue); ++i) {
      const Queued& each = gpu_queue[static_cast<size_t>(i)];
      if (!each.was_cached) continue;
      if (best < 0 || load(each.id) < load(gpu_queue[static_cast<size_t>(best)].id) ||
          (load(each.id) == load(gpu_queue[static_cast<size_t>(best)].id) &&
           each.id > gpu_queue[static_cast<size_t>(best)].id))
        best = i;
    }
    if (best < 0) return false;
    const int32_t id = gpu_queue[static_cast<size_t>(best)].id;
    if (cpu + of.cpu(id) + (cpu_began ? 0 : of.costs.cpu_first) >= gpu_through()) return false;
    gpu_queue.erase(gpu_queue.begin() + best);
    run_on_cpu(id);
    return true;
  };
  const auto link_acts = [&] {
    if (cpu_queue.empty()) return false;
    const auto highest = std::ranges::min_element(
        cpu_queue, [&](int32_t a, int32_t b) { return load(a) != load(b) ? load(a) > load(b) : a < b; });
    const int32_t id = *highest;
    cpu_queue.erase(highest);
    spans.push_back({ExpertLane::link, id, link, link + of.costs.transfer});
    link += of.costs.transfer;
    gpu_queue.push_back({id, link, false});
    return true;
  };
  while (!gpu_queue.empty() || !cpu_queue.empty()) {
    std::vector<std::pair<double, int>> order{{gpu, 0}, {cpu, 1}, {link, 2}};
    std::ranges::sort(order);
    for (const auto& [clock, lane] : order)
      if (lane == 0 ? gpu_acts() : lane == 1 ? cpu_acts() : link_acts()) break;
  }
  return spans;
}

}  // namespace tandem::testing
