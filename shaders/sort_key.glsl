// Maps floats to integers of the same order: both zeros are 0, and NaN counts as -infinity. Integers compare alike on
// every driver, however it treats NaN and denormals.
#define LOWEST_KEY (-0x7f800000)  // the key of -infinity
#define NO_INDEX 0x7fffffff

bool is_nan(const uint bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }

int sort_key(const uint bits) {
  if (is_nan(bits)) return LOWEST_KEY;
  const int magnitude = int(bits & 0x7fffffffu);
  return bits >> 31 != 0u ? -magnitude : magnitude;
}
