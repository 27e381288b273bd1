// Rates of this machine's devices, and the ratio between measured and predicted times of whole passes. They are
// learnt from the passes that users run (engine/plan/prediction/pooled_ratios.h), stored on disk, and replaced
// as newer passes come.
//
// Contention: other programs may have the cores during a pass. Estimates are kept twice: one set learns from all
// passes, the other from uncontended passes only. Predictions use the first set. The first uncontended pass after
// contended ones overwrites it with the second. The disk keeps the second, so a machine that was busy once does not
// look slow later. A level without uncontended samples goes to disk with its contended ones.
//
// Rates belong to (device, kind of operator, storage type, class of shape), never to a model. A device without samples
// begins with the rates of a current core. A GPU without known cores begins with the units that its driver reports. A
// first look then gives the first samples (engine/run/choice/probe.h).
//
// Contract: Threads: the orchestrator's. Ownership: borrows the devices and the cache. store() writes into the cache,
// which decides when to write to disk.
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
#include "engine/plan/prediction/pass_class.h"
#include "engine/plan/prediction/pooled_ratios.h"
#include "engine/run/choice/disk_cache.h"
#include "engine/run/pass/executor.h"

namespace tandem {

// The device's key in the disk cache, with all that its times depend on: "opencl:0|name|driver|cores 0|cold". Options
// that it was opened with stand before the last part.
std::string measurement_key(const DeviceInfo& device);

// The rates that a device begins with. A device that computes on host cores lists them in `cores`.
PriorRates prior_of(const DeviceInfo& device);

class MachineRates {
 public:
  MachineRates(std::span<const std::unique_ptr<Device>> devices, DiskCache& cache);

  // Costs of a pass's operators for plans over the devices, in the devices' order. Valid until the next learn().
  PlanCosts costs(const PassPositions& positions) const;
  // predict(plan, costs) times the ratio that passes of that kind had.
  double predicted_seconds(const Plan& plan, const PlanCosts& costs, const PassKind& kind) const;

  // Takes the samples of one pass. spans: what each device of the plan measured; an entry may be empty.
  // weight: 1, or less for a contended pass.
  void learn(const Plan& plan, const PassSpans& spans, const PassKind& kind, const PassPositions& positions,
             double seconds, double weight);

  // Whether the device with this index has samples, of this process or from disk.
  bool knows(size_t device) const { return !device_models_[device].rates.ratios().levels().empty(); }
  // A sample of one operator, which ran while the other devices were idle.
  void learn_alone(size_t device, const Operator& op, double seconds);

  // The weight of the samples of this kind of pass (PooledRatios::weight_of).
  double seen(const PassKind& kind) const;
  // Grows when new samples may change a choice: with the first, second, fourth, eighth ... pass, then with every 64th;
  // when contention ends and estimates change; and when exploration failed by a large factor.
  int64_t version() const { return version_; }
  void store();

 private:
  struct DeviceModel {
    DeviceRates rates;
    PooledRatios<OperatorClass> uncontended;  // learnt from uncontended passes only
    std::string key;                          // in the disk cache
  };
  double learn_operators(const Plan& plan, const PassSpans& spans, const PassPositions& positions, double weight);
  void add_exploration_bonuses(const Plan& plan, const PassSpans& spans, const PassKind& kind, double weight);
  double learn_pass(const Plan& plan, const PassKind& kind, const PassPositions& positions, double seconds,
                    double weight);
  void on_contention_end();

  std::span<const std::unique_ptr<Device>> devices_;
  DiskCache& cache_;
  std::vector<DeviceModel> device_models_;  // per device
  std::vector<int> lanes_;
  PooledRatios<PassClass> passes_, uncontended_passes_;
  bool contended_ = false;
  std::string passes_key_;
  int64_t learnt_ = 0, version_ = 0;
};

}  // namespace tandem
