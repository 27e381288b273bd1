// Y1, Y2: the active experts of one layer with their costs on either processor, in the orders that schedules need.
//
// Contract: a plain value. Times are in any one unit. An expert's id is its place in the list of loads. Costs come from
// the caller, who measured or modelled them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tandem {

// Y1: a processor's time for an expert with n tokens is fixed + per_token * n.
struct ExpertCosts {
  double cpu_fixed = 0, cpu_per_token = 0;
  double cpu_first = 0;  // more for the first expert on the processor
  double gpu_fixed = 0, gpu_per_token = 0;
  double gpu_offset = 0;   // Y5: the GPU begins then, behind the shared experts
  double transfer = 0;     // moves one expert to the GPU
  double link_offset = 0;  // the link begins then, behind the hand-over to it
  bool operator==(const ExpertCosts&) const = default;
};

struct LayerExpert {
  int32_t id = 0;
  int64_t load = 0;         // tokens
  double cpu = 0, gpu = 0;  // time there; cpu without cpu_first
};

class LayerExperts {
 public:
  // loads: tokens of each active expert. cached: ids of experts that the GPU holds. Error: a load below 1, an id that
  // is no expert or stands twice, a cost that is negative or not finite.
  LayerExperts(std::span<const int64_t> loads, std::span<const int32_t> cached, const ExpertCosts& costs);

  size_t size() const { return cached_.size() + uncached_.size(); }
  const ExpertCosts& costs() const { return costs_; }
  // By falling load; of equals the lower id first.
  std::span<const LayerExpert> cached() const { return cached_; }
  std::span<const LayerExpert> uncached() const { return uncached_; }
  // By rising load; of equals the lower id first.
  std::span<const LayerExpert> uncached_rising() const { return rising_; }

 private:
  ExpertCosts costs_;
  std::vector<LayerExpert> cached_, uncached_, rising_;
};

// Whether a higher load stands before, or of equals the lower id.
inline bool has_precedence(const LayerExpert& a, const LayerExpert& b) {
  return a.load > b.load || (a.load == b.load && a.id < b.id);
}

}  // namespace tandem
