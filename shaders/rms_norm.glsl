// The body of rms_norm_{simd,simt}.comp.
layout(local_size_x = LANES) in;
layout(constant_id = 0) const int HAS_ADD = 0;
layout(constant_id = 1) const int ROUND_F16 = 0;
layout(constant_id = 2) const int CENTRED = 0;
layout(constant_id = 3) const int HAS_BIAS = 0;
layout(constant_id = 4) const int OWN_WEIGHTS = 0;  // each group has its own weights and biases

BUFFER(0, float, x);
BUFFER(1, float, y);
BUFFER(2, float, add);
BUFFER(3, float, weight);
BUFFER(4, float, bias);
#ifdef CODES
BUFFER(5, uint, codes);
#endif
layout(push_constant) uniform Args {
  uint x_offset, y_offset, add_offset, weight_offset, bias_offset;
  int width, x_stride, y_stride, add_stride;
  float unit, eps, add_scale;
#ifdef CODES
  uint codes_offset;
#endif
};

// Adds an element of the row to its sum, after the residual if there is one.
#define ADD_VALUE(n)                                         \
  if (first + n * LANES < width) {                           \
    const uint i = uint(first + n * LANES);                  \
    precise float v = x[xs + i];                             \
    if (HAS_ADD != 0) {                                      \
      v = fma(add_scale, add[adds + i], v);                  \
      x[xs + i] = v;                                         \
    }                                                        \
    if (CENTRED != 0) {                                      \
      sum##n = sum##n + v;                                   \
    } else {                                                 \
      sum##n = fma(v, v, sum##n);                            \
    }                                                        \
  }
#define ADD_CENTRED_SQUARE(n)                                            \
  if (first + n * LANES < width) {                                       \
    precise const float v = x[xs + uint(first + n * LANES)] - mean;      \
    sum##n = fma(v, v, sum##n);                                          \
  }
#define START(n) precise float sum##n = 0.0;
#define START_AGAIN(n) sum##n = 0.0;

// Element i of the result. The arguments are where the rows of x, the weights and the biases begin.
float normed(const int i, const uint xs, const uint weights, const uint biases, const float mean, const float inverse) {
  precise float v = x[xs + uint(i)];
  if (CENTRED != 0) v = v - mean;
  precise const float scaled = v * inverse, weighted = weight[weights + uint(i)] + unit;
  if (HAS_BIAS != 0)
    v = fma(scaled, weighted, bias[biases + uint(i)]);
  else
    v = scaled * weighted;
  return ROUND_F16 != 0 ? round_f16(v) : v;
}

void main() {
  const int lane = int(gl_LocalInvocationID.x);
  const uint s = gl_WorkGroupID.x, group = gl_WorkGroupID.y * uint(width);
  const uint xs = x_offset + s * uint(x_stride) + group, ys = y_offset + s * uint(y_stride) + group;
  const uint weights = weight_offset + (OWN_WEIGHTS != 0 ? group : 0u), biases = bias_offset + (OWN_WEIGHTS != 0 ? group : 0u);
  const uint adds = add_offset + s * uint(add_stride) + group;

  EACH_SUM(START)  // sums of squares; of values if the mean is needed first
  // trips <= TANDEM_MAX_ROW / SUM_LANES
  for (int first = lane; first < width; first += SUM_LANES) {
    EACH_SUM(ADD_VALUE)
  }
  precise float mean = 0.0;
  if (CENTRED != 0) {
    const float total = TREE_SUM(sum);
    mean = quotient(total, float(width));
    EACH_SUM(START_AGAIN)
    // trips <= TANDEM_MAX_ROW / SUM_LANES   the elements this invocation wrote itself, as below
    for (int first = lane; first < width; first += SUM_LANES) {
      EACH_SUM(ADD_CENTRED_SQUARE)
    }
  }
  const float squares = TREE_SUM(sum);
  precise const float mean_square = quotient(squares, float(width)) + eps;
  // NaN if the squares overflow: results of zero would hide the overflow.
  precise const float inverse =
      mean_square > 3.40282347e38 ? uintBitsToFloat(0x7fc00000u) : quotient(1.0, root(mean_square));
#ifdef CODES
  // trips <= TANDEM_MAX_ROW / 2048   tiles of CODE_TILE columns
  for (int first = 0; first < width; first += CODE_TILE) {
    // trips <= 2048 / LANES
    for (int i = first + lane; i < min(width, first + CODE_TILE); i += LANES) {
      const float v = normed(i, xs, weights, biases, mean, inverse);
      y[ys + uint(i)] = v;
      code_tile[CODE_AT(uint(i - first))] = v;
    }
    barrier();
    make_codes_of_tile(first, width, codes_offset + s * (uint(width) / 32u) * ACT_WORDS);
    barrier();
  }
#else
  // trips <= TANDEM_MAX_ROW / LANES
  for (int i = lane; i < width; i += LANES) y[ys + uint(i)] = normed(i, xs, weights, biases, mean, inverse);
#endif
}
