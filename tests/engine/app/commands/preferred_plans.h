// Makes the engine take a plan: as if every other one had been seen to take far longer than predicted
// (engine/run/machine_rates.h).
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/engine/app/commands/whole.h"

namespace tandem::testing {

inline const std::vector<std::string>& plans_to_choose_from() {
  static const std::vector<std::string> names = {"gpu-only",  "layer",    "rows",     "tensor",
                                                 "staggered", "sequence", "host-only"};
  return names;
}

// kept: what a run with these devices has kept. of_phase: the plan of passes of "single", "few" and "many" tokens.
inline void prefer(json& kept, const std::map<std::string, std::string>& of_phase) {
  constexpr double kFar = 5, kOften = 12;  // of the logarithm; times seen
  int found = 0;
  for (auto& [key, value] : kept["values"].items()) {
    if (!key.starts_with("passes ")) continue;
    ++found;
    value = json::object();
    for (const auto& [phase, wanted] : of_phase) {
      for (const std::string& name : plans_to_choose_from())
        value[phase + " " + name] = {name == wanted ? 0 : kFar, kOften};
    }
  }
  ASSERT_EQ(found, 1) << "one set of devices has run";
}

}  // namespace tandem::testing
