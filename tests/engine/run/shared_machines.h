// Machines that the engines of one test process share. So all models use one copy of a kernel.
#pragma once

#include <gtest/gtest.h>

#include <list>
#include <memory>
#include <string>
#include <utility>

#include "engine/plan/strategy.h"
#include "engine/run/engine.h"
#include "engine/run/machine/loaded_model.h"
#include "engine/run/machine/machine.h"

namespace tandem::testing {

class SharedMachines : public ::testing::Environment {
 public:
  // Opens an engine with a model of its own, on the machine for these options and `key`.
  std::unique_ptr<Engine> open(const EngineOptions& options, const std::string& key) {
    return std::make_unique<Engine>(std::make_shared<LoadedModel>(machine(options, key), options), options);
  }
  void TearDown() override { machines_.clear(); }  // before the drivers' own handlers at the end of the process

 private:
  static constexpr size_t kMost = 3;  // the last used ones: a test compares the GPU, the NPU and both

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

  std::list<std::pair<std::string, std::shared_ptr<Machine>>> machines_;  // the last used one first
};

inline SharedMachines& shared_machines() {
  static auto* const machines = new SharedMachines;
  return *machines;
}
// Google Test owns the object.
inline ::testing::Environment* const kSharedMachines = ::testing::AddGlobalTestEnvironment(&shared_machines());

}  // namespace tandem::testing
