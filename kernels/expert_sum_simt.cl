// Adds up the weighted results of a token's experts: y is one chain sum = fma(weights[i], x[i], sum) over i = 0 .. k-1.
//   The chain begins at sum = 0.
//   The shared expert's result follows: fma(sigmoid(gate), shared, sum), or sum + shared without a gate.
//
// Layout: x f32 [S, k, width]; weights f32 [S, k]; shared, y f32 [S, width]; gate f32 at s*gate_stride. Option
//   SHARED: expert_sum.cl.
// Work: one work-item per element. Dimension 0 is the column (rounded up to groups of 64), dimension 1 the token.
//   `chunk` is 1.
// Limits: any width.
#include "expert_sum.cl"

__kernel void expert_sum_simt(BUFFER(x), BUFFER(weights), BUFFER(shared), BUFFER(gate), BUFFER(y), const int width, const int k,
                              const int gate_stride, const int chunk) {
  const size_t s = get_global_id(1), e = get_global_id(0) * chunk;
  if (e >= width) return;
  __global const float *x = PTR(const float, x) + s * k * width + e, *weights = PTR(const float, weights) + s * k;
  float sum = 0.0f;
  for (int i = 0; i < k; ++i) sum = fma(weights[i], x[(size_t)i * width], sum);
  PTR(float, y)[s * width + e] =
      WITH_SHARED(float, sum, PTR(const float, shared)[s * width + e], sigmoid_of(PTR(const float, gate)[s * gate_stride]));
}
