// Machines that the engines of one test process share: a kernel is made once for all models, not for each.
#pragma once

#include <gtest/gtest.h>

#include <list>
#include <memory>
#include <string>
#include <utility>

#include "engine/plan/strategy.h"
#include "engine/run/engine.h"
#include "engine/run/loaded_model.h"
#include "engine/run/machine.h"

namespace tandem::testing {

class SharedMachines : public ::testing::Environment {
 public:
  // An engine with a model of its own, on a machine that other engines of the same options and `key` have too.
  std::unique_ptr<Engine> open(const EngineOptions& options, const std::string& key) {
    return std::make_unique<Engine>(std::make_shared<LoadedModel>(machine(options, key), options), options);
  }
  void TearDown() override { machines_.clear(); }  // before the drivers' own handlers of the process's end

 private:
  static constexpr size_t kMost = 3;  // the last ones: a test compares the GPU, the NPU and both

  std::shared_ptr<Machine> machine(const EngineOptions& options, const std::string& key) {
    for (auto at = machines_.begin(); at != machines_.end(); ++at) {
      if (at->first != key) continue;
      machines_.splice(machines_.begin(), machines_, at);
      return at->second;
    }
    if (machines_.size() == kMost) machines_.pop_back();
    machines_.emplace_front(key, std::make_shared<Machine>(options, chosen_strategy(options.plan)));
    return machines_.front().second;
  }

  std::list<std::pair<std::string, std::shared_ptr<Machine>>> machines_;  // the last used first
};

inline SharedMachines& shared_machines() {
  static auto* const machines = new SharedMachines;
  return *machines;
}
// Google Test owns it.
inline ::testing::Environment* const kSharedMachines = ::testing::AddGlobalTestEnvironment(&shared_machines());

}  // namespace tandem::testing
