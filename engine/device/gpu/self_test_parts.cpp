#include "engine/device/gpu/self_test_parts.h"

#include <cmath>
#include <cstring>
#include <exception>
#include <optional>
#include <random>

#include "sync/error.h"

namespace tandem::gpu {

// The addend is the negative of the rounded product. The result is then the rounding error of the product, which only a
// fused fma keeps.
std::vector<float> fma_cases() {
  constexpr size_t kCases = 512;
  std::mt19937 random(7);
  std::uniform_real_distribution<float> values(1.0f, 2.0f);
  std::vector<float> cases(kCases * 3);
  size_t distinguishing = 0;
  for (size_t i = 0; i < kCases; ++i) {
    float* v = &cases[3 * i];
    v[0] = values(random), v[1] = values(random);
    v[2] = -(v[0] * v[1]);
    distinguishing += std::fma(v[0], v[1], v[2]) != 0.0f;
  }
  TANDEM_CHECK(distinguishing > kCases / 2, "the fma cases do not distinguish");
  return cases;
}

// Compares bits with the host's std::fma, which rounds once by definition.
bool rounded_once(std::span<const float> cases, std::span<const float> out) {
  TANDEM_CHECK(cases.size() == 3 * out.size(), "one result a case");
  for (size_t i = 0; i < out.size(); ++i) {
    const float expected = std::fma(cases[3 * i], cases[3 * i + 1], cases[3 * i + 2]);
    if (std::memcmp(&expected, &out[i], sizeof expected) != 0) return false;
  }
  return true;
}

// Some chosen pairs, among them very small and very large quotients, and a divisor whose mantissa is all ones. The
// others are random, from 2^-60 to 2^61.
std::vector<float> quotient_cases() {
  constexpr size_t kCases = 512;
  std::mt19937 random(11);
  std::uniform_real_distribution<float> mantissas(1.0f, 2.0f);
  std::uniform_int_distribution<int> exponents(-60, 60);
  std::vector<float> cases = {1, 3, 2, 3, 127, 3, 1e-30f, 127, 127, 1e-30f, 5, 1e30f, 0x1.fffffep0f, 0x1.fffffep0f};
  while (cases.size() < 2 * kCases) cases.push_back(std::ldexp(mantissas(random), exponents(random)));
  return cases;
}

// The host divides and takes roots as IEEE 754 says, with one rounding each. The bits must be equal.
bool divided_exactly(std::span<const float> cases, std::span<const float> out) {
  TANDEM_CHECK(cases.size() == out.size(), "a quotient and a root a case");
  for (size_t i = 0; i < out.size(); i += 2) {
    const float expected[] = {cases[i] / cases[i + 1], std::sqrt(cases[i])};
    if (std::memcmp(expected, &out[i], sizeof expected) != 0) return false;
  }
  return true;
}

// The first three pairs combine the extreme signed bytes -128, 127 and -127; the others are random.
std::vector<uint32_t> packed_dot_cases() {
  std::vector<uint32_t> cases = {0x80808080U, 0x80808080U, 0x80808080U, 0x7f7f7f7fU, 0x7f7f7f7fU, 0x81818181U};
  std::mt19937 random(7);
  while (cases.size() < 128) cases.push_back(static_cast<uint32_t>(random()));
  return cases;
}

// The sum of four products of signed bytes, which integers hold exactly.
bool dot_is_exact(std::span<const uint32_t> cases, std::span<const int32_t> out) {
  TANDEM_CHECK(cases.size() == 2 * out.size(), "one result a case");
  for (size_t i = 0; i < out.size(); ++i) {
    int32_t sum = 0;
    for (int byte = 0; byte < 32; byte += 8)
      sum += static_cast<int8_t>(cases[2 * i] >> byte & 255U) * static_cast<int8_t>(cases[2 * i + 1] >> byte & 255U);
    if (sum != out[i]) return false;
  }
  return true;
}

// A wish for copies and a precaution come before the proof, which then does not run.
void settle_zero_copy(DeviceInfo& info, bool force_copies, const Precautions& precautions,
                      const std::function<Proof()>& prove) {
  const auto copies =
      force_copies ? std::optional<std::string>("copies were asked for") : precautions.against("zero copy");
  const Proof proof = copies ? Proof{false, *copies} : prove();
  info.zero_copy = proof.holds;
  info.zero_copy_note = proof.note;
}

// A policy whose test throws has failed, and the message is the reason. A policy that precautions name is not tried at
// all, because the driver may end this process.
PolicyTest test_policy(sync::Policy policy, const Precautions& precautions, const std::function<std::string()>& body) {
  if (const auto why = precautions.against("policy " + name_of(policy))) return {policy, false, *why};
  try {
    return {policy, true, body()};
  } catch (const std::exception& error) {
    return {policy, false, error.what()};
  }
}

std::string microseconds_since(Clock::time_point begin) {
  const auto passed = Clock::now() - begin;
  return std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(passed).count()) + " us";
}

}  // namespace tandem::gpu
