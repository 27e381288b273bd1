// Turns 32 values into a group of codes (act_i8.glsl). Other shaders include this file after quotient.glsl; it is never
// built alone.
//
// The including file has the binding `codes`, of words, and CODED(at), the value at a place. A value is rounded by adding
// 1.5 * 2^23 (12582912) and reading the low bits, which is exact below 2^22.

// The values from place `from` on; the group's first word is codes[to].
void make_codes(const uint from, const uint to) {
  int largest = 0;
  for (uint k = 0u; k < 32u; ++k) largest = max(largest, floatBitsToInt(CODED(from + k)) & 0x7fffffff);
  const float magnitude = intBitsToFloat(largest);
  const bool finite = largest < 0x7f800000, counts = finite && magnitude >= 7.888609052210118e-31;  // 2^-100
  uint scale_bits = finite ? 0u : 0x7fc00000u;
  precise float factor = 0.0;
  if (counts) {
    scale_bits = floatBitsToUint(quotient(magnitude, 127.0));
    factor = quotient(127.0, magnitude);
  }
  int first = 0, second = 0;
  for (uint word = 0u; word < 8u; ++word) {
    uint four = 0u;
    int sum = 0;
    for (uint i = 0u; i < 4u; ++i) {
      precise const float scaled = CODED(from + word / 2u * 8u + 2u * i + word % 2u) * factor;
      precise const float shifted = scaled + 12582912.0;
      const int code = counts ? floatBitsToInt(shifted) - 0x4b400000 : 0;
      sum += code;
      four |= (uint(code) & 255u) << (8u * i);
    }
    codes[to + word] = four;
    if (word < 4u) first += sum;
    else second += sum;
  }
  codes[to + ACT_SCALE] = scale_bits;
  codes[to + ACT_SUMS] = uint(first);
  codes[to + ACT_SUMS + 1u] = uint(second);
}
