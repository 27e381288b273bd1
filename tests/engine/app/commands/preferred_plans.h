// Makes the engine choose a certain plan. The kept rates say that every other plan took far longer than
// predicted (engine/run/choice/machine_rates.h).
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "engine/plan/strategy.h"
#include "tests/engine/app/commands/whole.h"

namespace tandem::testing {

// kept: the measurements that a run with these devices has kept. of_phase: the plan for passes of "single", "few" and
// "many" tokens.
inline void prefer(json& kept, const std::map<std::string, std::string>& of_phase) {
  constexpr double kFar = 5, kOften = 12;  // a logarithm; a number of observations
  int found = 0;
  for (auto& [key, value] : kept["values"].items()) {
    if (!key.starts_with("passes ")) continue;
    ++found;
    value = json::object();
    for (const auto& [phase, wanted] : of_phase) {
      for (const Strategy& strategy : strategies()) {
        if (!strategy.tried_by_auto) continue;
        for (int tokens = 1; tokens <= 256; tokens *= 2)
          value[phase + " S" + std::to_string(tokens) + " " + strategy.name] = {strategy.name == wanted ? 0 : kFar,
                                                                                kOften};
      }
    }
  }
  ASSERT_EQ(found, 1) << "one set of devices has run";
}

}  // namespace tandem::testing
