// Facts about AMD's cores that loops depend on. Pure.
#pragma once

namespace tandem {

// Whether joins of bits (vpternlog) take the pipes of multiply-adds. Measured on Zen 4; the family is that of Zen 3
// and 4. A Zen 5 has pipes that are twice as wide.
inline bool joins_cost_products() {
#if defined(__x86_64__)
  return __builtin_cpu_is("amdfam19h") != 0;
#else
  return false;
#endif
}

}  // namespace tandem
