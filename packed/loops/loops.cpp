#include "packed/loops/loops.h"

#include <algorithm>
#include <vector>

namespace tandem {

// Both lists begin with the best loops, so the first ones that an instruction set has are its fastest ones.
std::span<const PackedLoops> all_packed_loops() {
  static const std::vector<PackedLoops> all = [] {
    std::vector<PackedLoops> loops;
    for (const ExactLoops* exact : all_exact_loops()) {
      const auto act =
          std::ranges::find_if(all_act_loops(), [&](const ActLoops* each) { return each->set <= exact->set; });
      loops.push_back({exact, *act});
    }
    return loops;
  }();
  return all;
}

// Tests ask for each table by its instruction set, and the engine takes the first.
const PackedLoops& best_packed_loops() { return all_packed_loops().front(); }

const PackedLoops* find_packed_loops(InstructionSet set) {
  for (const PackedLoops& loops : all_packed_loops())
    if (loops.set() == set) return &loops;
  return nullptr;
}

}  // namespace tandem
