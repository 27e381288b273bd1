// The loops over packed weights, chosen once for each instruction set. The host and the emulated NPU use the same ones.
//
// Contract: values that live as long as the program. Threads: any.
#pragma once

#include <span>

#include "packed/loops/act_loops.h"
#include "packed/loops/exact_loops.h"

namespace tandem {

struct PackedLoops {
  const ExactLoops* exact;  // for f32 activations
  const ActLoops* act;      // for 8-bit activations: the fastest ones of this instruction set or a lower one
  InstructionSet set() const { return exact->set; }
};

std::span<const PackedLoops> all_packed_loops();  // those this processor can run, best first; the portable ones last
const PackedLoops& best_packed_loops();
const PackedLoops* find_packed_loops(InstructionSet set);  // nullptr: this processor cannot run them

}  // namespace tandem
