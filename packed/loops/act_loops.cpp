#include "packed/loops/act_loops.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include <vector>

#include "packed/loops/act_loops_tables.h"

namespace tandem {
namespace {

#if defined(__x86_64__)
// CPUID tells, because compilers have no name for AVX-VNNI yet. Its registers are those of AVX2.
bool has_avx_vnni() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & (1U << 4)) != 0;
}
#endif

#if defined(__x86_64__)
// Tiles are 8 KiB of registers, and a process must ask the operating system for them.
bool may_use_amx() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kTile = 1U << 24, kInt8 = 1U << 25;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & kTile) == 0 || (d & kInt8) == 0) return false;
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
#endif

// Tables from the fastest to the plain one, which runs everywhere. A table is listed only if the processor has all
// instructions that its file is compiled for.
std::vector<const ActLoops*> runnable() {
  std::vector<const ActLoops*> loops;
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool vnni = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512vnni");
  if (vnni && may_use_amx()) loops.push_back(&kAmxActLoops);
  if (vnni) loops.push_back(&kVnniActLoops);
  if (avx2 && has_avx_vnni()) loops.push_back(&kAvxVnniActLoops);
  if (avx2) loops.push_back(&kAvx2ActLoops);
#elif defined(__aarch64__)
  if ((getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0) loops.push_back(&kNeonActLoops);
#endif
  loops.push_back(&plain_act_loops());
  return loops;
}

}  // namespace

std::span<const ActLoops* const> all_act_loops() {
  static const std::vector<const ActLoops*> loops = runnable();
  return loops;
}

}  // namespace tandem
