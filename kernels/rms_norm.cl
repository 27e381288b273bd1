// Variants (by -D) and the three differing steps of rms_norm_{simd,simt}.cl, for a value or a vector. Other kernels
// include this file; it is never built alone.
//
//   ADD_UP     a step of the first loop: it sums values if the mean is subtracted, otherwise squares.
//   OF_VALUE   the number that is scaled: the value, minus the mean with CENTRED.
//   WITH_BIAS  the last product, plus the bias.
//   WEIGHTS_OF the first weight of a group; with OWN_WEIGHTS each group has its own.
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
#ifndef OWN_WEIGHTS
#define OWN_WEIGHTS 0
#endif

// NaN if the squares overflow: results of zero would hide the overflow.
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
#if OWN_WEIGHTS
#define WEIGHTS_OF(group) ((group) * width)
#else
#define WEIGHTS_OF(group) 0
#endif
#if HAS_BIAS
#define WITH_BIAS(v, weight, bias) fma(v, weight, bias)
#else
#define WITH_BIAS(v, weight, bias) ((v) * (weight))
#endif
