#include "engine/device/host/loops.h"

#include "packed/loops/loops.h"

namespace tandem::host {

// The machine runs the instruction sets for which it has loops over packed weights.
const HostLoops* find_loops(InstructionSet set) {
  if (!find_packed_loops(set)) return nullptr;
#if defined(__x86_64__)
  if (set == InstructionSet::avx512) return &kAvx512Loops;
  if (set == InstructionSet::avx2) return &kAvx2Loops;
#endif
  return &kPortableLoops;
}

const HostLoops& best_loops() { return *find_loops(best_packed_loops().set()); }

}  // namespace tandem::host
