// What this machine's processor is known to do better or worse than others with the same instructions, so that loops
// and kernels of its cores can take the form that is faster there. Results do not depend on it.
#pragma once

namespace tandem {

// False where nobody has measured: loops stay as they were measured elsewhere. Zen 4, 2026-11-26:
// docs/measured/changes.md.
struct ProcessorTraits {
  // More than about one load for two multiply-adds takes a multiply-add's place (Zen 4). On Intel's, converting halves
  // should (by published tables of instructions; not measured), so that more queries had better share a conversion.
  bool loads_cost_products = false;
  // A long run of memory comes faster unasked than asked for line by line: there is room for 24 lines on their way to
  // the first cache, where such requests go (Zen 4).
  bool foresees_long_runs = false;
};

const ProcessorTraits& this_processor();

}  // namespace tandem
