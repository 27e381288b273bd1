// Computes quotients and roots that are rounded once, as the contract demands (docs/numbers.md). Other shaders include
// this file; it is never built alone.
//
// Vulkan lets a driver's own results be off by 2.5 units in the last place (NVIDIA's are off by one). If the device's
// start-up test finds such errors (engine/device/vulkan/self_test.h), the runtime sets CORRECTED in all shaders. The
// remainder of a first guess then corrects the guess. With a fused fma this remainder is exact (Markstein, IA-64 and
// Elementary Functions, 2000, chapters 8 and 9).
// Limits: results below the smallest normal number are rounded twice. For operands below it the driver's quotient
//   is used.
#ifndef CORRECTED
layout(constant_id = 90) const int CORRECTED = 0;
#endif

// The exponent field. 0: zero or subnormal; 255: infinity or NaN.
int exponent_of(const float x) { return int(floatBitsToUint(x) >> 23u & 255u); }
float power_of_two(const int n) { return uintBitsToFloat(uint(n + 127) << 23u); }
// One unit in the last place of a number near one.
float unit_of(const float x) { return power_of_two(exponent_of(x) - 127 - 23); }

float quotient(const float a, const float b) {
  precise const float guess = a / b;
  const int from = exponent_of(a), by = exponent_of(b);
  if (CORRECTED == 0 || from == 0 || from == 255 || by == 0 || by == 255) return guess;
  // The mantissas, in [1, 2).
  const float dividend = uintBitsToFloat((floatBitsToUint(a) & 0x007fffffu) | 0x3f800000u);
  const float divisor = uintBitsToFloat((floatBitsToUint(b) & 0x007fffffu) | 0x3f800000u);
  precise const float rough = 1.0 / divisor, inverse = fma(fma(-divisor, rough, 1.0), rough, rough);
  precise float result = dividend * inverse;
  result = fma(fma(-divisor, result, dividend), inverse, result);
  result = fma(fma(-divisor, result, dividend), inverse, result);
  // A divisor whose bits are all ones has an inverse next to the middle of two numbers, so the neighbour of the result
  // may be the nearest one.
  precise const float left = fma(-divisor, result, dividend);
  const float unit = unit_of(result), middle = 0.5 * unit * divisor;
  result = left > middle ? result + unit : left < -middle ? result - unit : result;
  const int power = from - by, half_power = power / 2;
  const uint sign_bit = (floatBitsToUint(a) ^ floatBitsToUint(b)) & 0x80000000u;
  precise const float scaled = result * power_of_two(half_power) * power_of_two(power - half_power);
  return uintBitsToFloat(floatBitsToUint(scaled) | sign_bit);
}

float root(const float x) {
  precise const float guess = sqrt(x);
  const int from = exponent_of(x);
  if (CORRECTED == 0 || from == 0 || from == 255 || x < 0.0) return guess;
  const int half_power = (from - 127) >> 1;  // rounded down: the rest lies in [1, 4)
  const float rest = uintBitsToFloat((floatBitsToUint(x) & 0x007fffffu) | uint(from - 2 * half_power) << 23u);
  precise const float inverse = inversesqrt(rest), half_inverse = 0.5 * inverse;
  precise float result = rest * inverse;
  result = fma(fma(-result, result, rest), half_inverse, result);
  // The nearest of three neighbours: the remainder is exact, and so is the distance to the middle of two.
  precise const float left = fma(-result, result, rest);
  const float unit = unit_of(result), middle = result * unit;
  result = left > middle ? result + unit : left <= -middle ? result - unit : result;
  return result * power_of_two(half_power);
}
