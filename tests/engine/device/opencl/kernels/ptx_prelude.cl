// OpenCL's builtins in terms of PTX, for compiling kernels without NVIDIA's driver (ptx_check.py). clang includes this
// file in front of a kernel.
__attribute__((overloadable, always_inline)) float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
__attribute__((overloadable, always_inline)) float4 fused(float4 a, float4 b, float4 c) {
  return (float4)(fused(a.x, b.x, c.x), fused(a.y, b.y, c.y), fused(a.z, b.z, c.z), fused(a.w, b.w, c.w));
}
__attribute__((overloadable, always_inline)) float2 fused(float a, float2 b, float2 c) {
  return (float2)(fused(a, b.x, c.x), fused(a, b.y, c.y));
}
__attribute__((overloadable, always_inline)) float2 fused(float2 a, float b, float2 c) { return fused(b, a, c); }
#define fma(a, b, c) fused(a, b, c)
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define fabs(x) __builtin_fabsf(x)
#define barrier(fence) __asm__ volatile("bar.sync 0;" ::: "memory")
#define OF_DIMENSION(d, name) \
  ((d) == 0 ? __nvvm_read_ptx_sreg_##name##_x() : (d) == 1 ? __nvvm_read_ptx_sreg_##name##_y() : __nvvm_read_ptx_sreg_##name##_z())
#define get_local_id(d) OF_DIMENSION(d, tid)
#define get_group_id(d) OF_DIMENSION(d, ctaid)
#define get_num_groups(d) OF_DIMENSION(d, nctaid)

#define HELPER static inline float __attribute__((always_inline, overloadable))
HELPER half_as_float(ushort bits) {
  float value;
  __asm__("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
HELPER load_half(size_t at, const __global half *halves) { return half_as_float(((const __global ushort *)halves)[at]); }
HELPER load_half(size_t at, const __private half *halves) { return half_as_float(((const __private ushort *)halves)[at]); }
#define vload_half load_half
