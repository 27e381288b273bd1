// Parts of the start-up tests that OpenCL and Vulkan devices share. Pure, except for the clock.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/proof/precautions.h"
#include "sync/clock.h"

namespace tandem::gpu {

struct Proof {
  bool holds = false;
  std::string note;  // how it was shown, or why it was not
};

// Decides whether the device may use host memory in place and writes it into `info` with the note. The answer is no if
// the caller wants copies or the driver must not take the step "zero copy". Otherwise `prove` decides.
void settle_zero_copy(DeviceInfo& info, bool force_copies, const Precautions& precautions,
                      const std::function<Proof()>& prove);

// [cases, 3] values a, b, c. For most of them a * b + c differs when the product is rounded before the addition.
std::vector<float> fma_cases();
// Whether each out[i], computed from case i, equals the result of an fma that rounds once.
bool rounded_once(std::span<const float> cases, std::span<const float> out);

// [cases, 2] values. A device divides the first one by the second one and takes the root of the first one.
std::vector<float> quotient_cases();
// Whether out[2 i] and out[2 i + 1] are the quotient and the root of case i, rounded once.
bool divided_exactly(std::span<const float> cases, std::span<const float> out);

// [cases, 2] words of four signed bytes: the extreme values of a byte, and random ones.
std::vector<uint32_t> packed_dot_cases();
// Whether out[i] is the sum of the four products of case i.
bool dot_is_exact(std::span<const uint32_t> cases, std::span<const int32_t> out);

// Runs the test of a policy. It passes with the note that `body` returns and fails with the message that `body` throws.
// It fails untried if the driver must not take the step "policy NAME".
PolicyTest test_policy(sync::Policy policy, const Precautions& precautions, const std::function<std::string()>& body);
std::string microseconds_since(Clock::time_point begin);  // "12 us"

}  // namespace tandem::gpu
