// The steps of expert_sum_{simd,simt}.cl, for a value or a vector of them. Not a source of its own; included.
//
// Options: SHARED 0 none, 1 added, 2 through its gate.
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
