// e^x: softmax, attention and SwiGLU share this definition, which follows kernels/common.cl step by step.
//
//   x = n ln 2 + r. n is the nearest integer, from the low bits of x / ln 2 + 1.5 * 2^23; ln 2 is in two parts (Cody
//   and Waite).
//   e^r = 1 + r + r^2 P(r), with P of degree 5 and |r| <= ln 2 / 2. Then n is added to the exponent field.
// The result is 0 below -87.33, where e^x is the smallest normal number, and infinity above 88.7228; e^0 is exactly 1.
#define INFINITY uintBitsToFloat(0x7f800000u)

float exp1(const float x) {
  precise const float shifted = fma(x, 1.44269504, 12582912.0);
  precise const float n = shifted - 12582912.0;
  precise const float r = fma(n, 2.12194440e-4, fma(n, -0.693359375, x));
  precise float p = 1.9875691500e-4;
  p = fma(p, r, 1.3981999507e-3);
  p = fma(p, r, 8.3334519073e-3);
  p = fma(p, r, 4.1665795894e-2);
  p = fma(p, r, 1.6666665459e-1);
  p = fma(p, r, 5.0000001201e-1);
  precise const float square = r * r;
  p = fma(p, square, r) + 1.0;
  const float e = uintBitsToFloat(floatBitsToUint(p) + (floatBitsToUint(shifted) << 23));
  return x < -87.33 ? 0.0 : x > 88.7228 ? INFINITY : e;
}

// A soft cap, cap * tanh(x / cap), by tanh(u) = 1 - 2 / (1 + exp(2 u)).
float soft_cap1(const float x, const float cap) {
  precise const float power = 1.0 + exp1(quotient(x, cap) * 2.0), capped = cap * (1.0 - quotient(2.0, power));
  return capped;
}
