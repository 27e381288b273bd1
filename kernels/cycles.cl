// The processor's cycle counter: when something happened inside a kernel. Not a source of its own; included.
//
// Limits: x86, and compilers that take inline assembly (PoCL's does; its __builtin_readcyclecounter ends the process). The device's start-up
//   test decides (engine/device/opencl/list_stamps.h).
// Not before what came before: the counter alone is no fence.
INLINE ulong cycle_stamp(void) {
  uint low, high;
  __asm__ volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high) : : "memory");
  return ((ulong)high << 32) | low;
}
