// Put in front of every kernel source: buffer arguments, half conversion, and the contract's rules.
//
// Limits: OpenCL C 1.2, no cl_khr_fp16 arithmetic, no sub-groups. Never built with -cl-fast-relaxed-math or -cl-mad-enable:
// every fma of the numeric contract (docs/numbers.md) is written out, and nothing else may be contracted.
#pragma OPENCL FP_CONTRACT OFF

// A buffer argument is a base pointer and a byte offset; AT() is the typed pointer.
#define BUFFER(name) __global uchar *name##_base, const ulong name##_offset
#define AT(type, name) ((__global type *)(name##_base + name##_offset))

// Rounds to f16 (nearest even) and back: how --act f16 stores activations.
inline float round_f16(float x) {
  ushort h;
  vstore_half_rte(x, 0, (__private half *)&h);
  return vload_half(0, (__private half *)&h);
}
inline float16 round_f16x16(float16 x) {
  ushort h[16];
  vstore_half16_rte(x, 0, (__private half *)h);
  return vload_half16(0, (__private half *)h);
}
