// Adds up the weighted results of a token's experts: y is one chain sum = fma(weights[i], x[i], sum) over i = 0 .. k-1.
//   The chain begins at sum = 0.
//   The shared expert's result follows: fma(sigmoid(gate), shared, sum), or sum + shared without a gate.
//
// Layout: x f32 [S, k, width]; weights f32 [S, k]; shared, y f32 [S, width]; gate f32 at s*gate_stride. Option
//   SHARED: expert_sum.cl.
// Work: dimension 0 is a run of `chunk` elements of a row, dimension 1 the token; local size 1.
// Limits: any width; chunk is a multiple of 16.
#include "expert_sum.cl"

__kernel void expert_sum_simd(BUFFER(x), BUFFER(weights), BUFFER(shared), BUFFER(gate), BUFFER(y), const int width, const int k,
                              const int gate_stride, const int chunk) {
  const size_t s = get_global_id(1);
  const int begin = get_global_id(0) * chunk, end = min(width, begin + chunk);
  __global const float *x = PTR(const float, x) + s * k * width, *weights = PTR(const float, weights) + s * k;
  __global float *y = PTR(float, y) + s * width;
#if SHARED
  __global const float *shared = PTR(const float, shared) + s * width;
#endif
#if SHARED == 2
  const float gate = sigmoid_of(PTR(const float, gate)[s * gate_stride]);
#endif
  int e = begin;
  for (; e + 16 <= end; e += 16) {
    float16 sum = 0.0f;
    for (int i = 0; i < k; ++i) sum = fma((float16)(weights[i]), vload16(0, x + (long)i * width + e), sum);
    STORE16(__global, WITH_SHARED(float16, sum, vload16(0, shared + e), gate), y + e);
  }
  for (; e < end; ++e) {
    float sum = 0.0f;
    for (int i = 0; i < k; ++i) sum = fma(weights[i], x[(long)i * width + e], sum);
    y[e] = WITH_SHARED(float, sum, shared[e], gate);
  }
}
