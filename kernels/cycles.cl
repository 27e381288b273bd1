// Reads the processor's cycle counter: the moment of an event inside a kernel. Other kernels include this file; it is
// never built alone.
//
// Limits: x86, and compilers that have these two builtins (Clang has both). The device's start-up test
//   decides (engine/device/opencl/list_stamps.h).
//   Inline assembly would work too. But PoCL 5.0 ends the process when it is asked for the binary of a kernel that
//   contains any.
// The fence lets earlier instructions finish first; the counter alone does not order them.
INLINE ulong cycle_stamp(void) {
  __builtin_ia32_lfence();
  return __builtin_ia32_rdtsc();
}
