// Traits of this machine's processor: strengths and weaknesses compared with others that have the same instructions.
// Loops and kernels on its cores take the form that is faster there. Results do not depend on it.
#pragma once

namespace tandem {

// False without a measurement: loops then stay as they were measured on other processors. Zen 4,
// 2026-11-26 and 30: docs/measured/changes.md.
struct ProcessorTraits {
  // Zen 4: a load beyond about one for two multiply-adds takes the place of a multiply-add. On Intel's processors,
  // converting halves should take such a place, by published tables of instructions (not measured). There, more queries
  // had better share one conversion.
  bool loads_cost_products = false;
  // Zen 4: a long run of memory arrives faster without a prefetch for each line. Prefetches go to the first cache, and
  // only 24 lines may be on their way there.
  bool foresees_long_runs = false;
  // Zen 4: vpternlog, which compilers make of an `and` and an `or`, takes the place of a multiply-add. The two alone do
  // not, nor does a conversion of integers.
  bool joins_cost_products = false;
};

const ProcessorTraits& this_processor();

}  // namespace tandem
