// What this machine's devices take, and what whole passes take beside what is predicted: learnt from the passes that
// users ask for, kept on disk, forgotten as newer ones come (engine/plan/prediction/pooled_ratios.h).
//
// Passes during which others had the cores say what holds while they do. What holds when nobody does is kept beside it,
// comes back with the first pass that had them alone, and is what goes to disk: a machine that was busy once is not
// remembered as slow. What was never seen but beside others is kept as that.
//
// Rates belong to (device, kind of operator, storage type, class of shape), never to a model. Those of a device that
// was never seen begin at what a core of today does, or at what a GPU's driver reports of it, and at a first look
// (engine/run/probe.h).
//
// Contract: Threads: the orchestrator's. Ownership: borrows the devices and the cache. store() writes into the cache,
// which knows when to go to disk.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/plan/costs.h"
#include "engine/plan/plan.h"
#include "engine/plan/prediction/device_rates.h"
#include "engine/plan/prediction/pooled_ratios.h"
#include "engine/run/disk_cache.h"
#include "engine/run/executor.h"

namespace tandem {

// Everything about a device that times depend on, as a key of the disk cache: "opencl:0|name|driver|cores 0|cold"; what
// it was opened with stands before the last part.
std::string measurement_key(const DeviceInfo& device);

// Where a device begins; `device` that computes on host cores has `cores`.
PriorRates prior_of(const DeviceInfo& device);

// A kind of pass: by its plan, its tokens and the positions before them.
struct PassKind {
  // The strategy, how steps reach the GPU where that is not "ahead", whether of many sequences: "rows+follow".
  std::string plan;
  int64_t S = 0, past = 0;
};

class MachineRates {
 public:
  MachineRates(std::span<const std::unique_ptr<Device>> devices, DiskCache& cache);

  // Costs of operators for plans over the devices, in their order; attention at the positions that its buffers hold.
  // Valid until the next learn().
  PlanCosts costs() const;
  // predict(plan, costs()) and what passes of that kind took beside that.
  double predicted_seconds(const Plan& plan, const PlanCosts& costs, const PassKind& kind) const;

  // How the operators of a pass, and the pass, went. spans: per device of the plan, what it measured; may be empty.
  // weight: 1, or less where others had the cores meanwhile, so that the figures are in doubt.
  void learn(const Plan& plan, const PassSpans& spans, const PassKind& kind, double seconds, double weight);

  // Whether anything was learnt of the device with this index, here or on disk.
  bool knows(size_t device) const { return !of_[device].rates.ratios().levels().empty(); }
  // What an operator took on one device while the others had nothing to do; it looks at no cache.
  void learn_alone(size_t device, const Operator& op, double seconds);

  // How often learn() was told of passes of this kind, as far as it is remembered.
  double seen(const PassKind& kind) const;
  // Goes up when what was learnt may change a choice: with the first pass, the second, the fourth and so on, then with
  // every 64th; when others have left the cores; and when something was hoped in vain.
  int64_t version() const { return version_; }
  void store();

 private:
  struct Of {
    DeviceRates rates;
    PooledRatios quiet;  // of passes during which nobody else had the cores
    std::string key;     // on disk
  };
  double learn_operators(const Plan& plan, const PassSpans& spans, double weight);
  void hope_of_others(const Plan& plan, const PassSpans& spans, const PassKind& kind, double weight);
  double learn_pass(const Plan& plan, const PassKind& kind, double seconds, double weight);
  void others_left();

  std::span<const std::unique_ptr<Device>> devices_;
  DiskCache& cache_;
  std::vector<Of> of_;  // per device
  std::vector<int> lanes_;
  PooledRatios passes_, passes_quiet_;
  bool beside_others_ = false;
  std::string passes_key_;
  int64_t learnt_ = 0, version_ = 0;
};

}  // namespace tandem
