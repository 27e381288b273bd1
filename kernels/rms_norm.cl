// What rms_norm_{simd,simt}.cl have in common: their variants by -D, and the three steps in which these differ, for a value or a vector.
//
//   ADD_UP     what the first loop sums up: values where the mean is wanted first, otherwise their squares
//   OF_VALUE   what is scaled: the value, less the mean where that is taken off
//   WITH_BIAS  the last product, with the bias
#ifndef HAS_ADD
#define HAS_ADD 0
#endif
#ifndef ROUND_F16
#define ROUND_F16 0
#endif
#ifndef CENTRED
#define CENTRED 0
#endif
#ifndef HAS_BIAS
#define HAS_BIAS 0
#endif

// NaN where the squares overflow: results of zero would hide it.
INLINE float inverse_root(const float mean_square) {
  return mean_square > FLT_MAX ? NAN : 1.0f / sqrt(mean_square);
}

#if CENTRED
#define ADD_UP(v, sums) ((sums) + (v))
#define OF_VALUE(v) ((v) - mean)
#else
#define ADD_UP(v, sums) fma(v, v, sums)
#define OF_VALUE(v) (v)
#endif
#if HAS_BIAS
#define WITH_BIAS(v, weight, bias) fma(v, weight, bias)
#else
#define WITH_BIAS(v, weight, bias) ((v) * (weight))
#endif
