// Makes the plans that an engine runs: tells a strategy what devices take and how long things last, and where the
// choice is open (`auto`, `tensor`) tries the strategies on the batch at hand.
//
// What is tried is kept, per length of a batch, in memory and on disk (there as doubtful when other programs had
// the cores meanwhile, engine/run/contention.h: a process that finds them free tries again). Trying runs real passes on
// the engine's buffers: they write to the cache from `position` on, which the batch itself writes next. Threads: the
// orchestrator's. Ownership: borrows everything it is made from.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/registry.h"
#include "engine/graph/activations.h"
#include "engine/graph/decoder.h"
#include "engine/model/weights.h"
#include "engine/plan/plan.h"
#include "engine/plan/strategy.h"
#include "engine/run/disk_cache.h"
#include "engine/run/executor.h"

namespace tandem {

// What a planner works on.
struct PlannedModel {
  const Model& model;
  const Activations& activations;
  std::span<const std::unique_ptr<Device>> devices;
  const Device* host_beside_npu = nullptr;  // the device "host" where it shares the NPU's thread
  std::string key;                          // of the model and how it runs, for what is kept on disk
};

struct PlannerOptions {
  std::string plan = "auto";
  std::vector<double> split;  // as EngineOptions::split
  bool round_f16 = false;
  bool strict = false;
  bool tries = true;  // false: `tensor` is what its solver says, without trying others (tests)
  std::vector<int64_t> graph_tokens;
  std::string submit = "ahead";  // as EngineOptions::submit
  bool keeps_contended = false;  // as EngineOptions::keeps_contended
  OnLongWork on_long_work;
};

class Planner {
 public:
  Planner(PlannedModel planned, PlannerOptions options, Executor& executor, DiskCache& cache);

  // The strategy for a batch that begins at `position`, tried now when it is the first one of its length.
  const std::string& name_for(const Batch& batch, int64_t position);
  Plan plan_for(const Batch& batch, int64_t position);
  // As far as a plan depends on how many tokens stand before it (attention grows with them): rounded down, so that a
  // few plans serve every length.
  int64_t planned_past(const Batch& batch, int64_t position);

  Plan make(const std::string& strategy, const Batch& batch, int64_t position);
  // What this batch's operators cost on the devices, measured where it is not known yet.
  PlanCosts costs(const Batch& batch, int64_t position);

 private:
  std::vector<Operator> operators(const Batch& batch) const;
  std::vector<std::string> candidates() const;
  std::string fastest(const std::vector<std::string>& candidates, const Batch& batch, int64_t position);
  bool has(DeviceKind kind) const;

  PlannedModel planned_;
  PlannerOptions options_;
  Executor& executor_;
  DiskCache& cache_;
  std::map<int64_t, std::string> chosen_;  // by length class
};

// Lengths of batches that a choice holds for, named by the longest one.
int64_t length_class(int64_t S);

}  // namespace tandem
