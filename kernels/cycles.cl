// The processor's cycle counter: when something happened inside a kernel. Not a source of its own; included.
//
// Limits: x86, and compilers that know these two builtins (Clang's do). The device's start-up test decides (engine/device/opencl/list_stamps.h).
//   Inline assembly would do as well, but PoCL 5.0 ends the process that asks for the compiled form of a kernel with any.
// Not before what came before: the counter alone is no fence.
INLINE ulong cycle_stamp(void) {
  __builtin_ia32_lfence();
  return __builtin_ia32_rdtsc();
}
