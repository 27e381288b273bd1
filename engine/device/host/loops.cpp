#include "engine/device/host/loops.h"

#include <cstring>

namespace tandem::host {

const HostLoops* find_loops(const char* name) {
#if defined(__x86_64__)
  // Every processor with AVX2 and FMA also converts halves, because F16C came before both.
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (std::strcmp(name, "avx512") == 0 && avx2 && __builtin_cpu_supports("avx512f")) return &kAvx512Loops;
  if (std::strcmp(name, "avx2") == 0 && avx2) return &kAvx2Loops;
#endif
  return std::strcmp(name, "portable") == 0 ? &kPortableLoops : nullptr;
}

const HostLoops& best_loops() {
  for (const char* name : {"avx512", "avx2"})
    if (const HostLoops* loops = find_loops(name)) return *loops;
  return kPortableLoops;
}

}  // namespace tandem::host
