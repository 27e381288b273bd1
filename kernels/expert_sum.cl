// Steps of expert_sum_{simd,simt}.cl, for a value or a vector. Other kernels include this file; it is never
// built alone.
//
// Options: SHARED is 0 for no shared expert, 1 to add its result, 2 to scale it by its gate.
#ifndef SHARED
#define SHARED 0
#endif

#if SHARED == 0
#define WITH_SHARED(FLOAT, sum, shared, gate) (sum)
#elif SHARED == 1
#define WITH_SHARED(FLOAT, sum, shared, gate) ((sum) + (shared))
#else
#define WITH_SHARED(FLOAT, sum, shared, gate) fma((FLOAT)(gate), shared, sum)
#endif

INLINE float sigmoid_of(const float x) { return 1.0f / (1.0f + exp1(-x)); }
