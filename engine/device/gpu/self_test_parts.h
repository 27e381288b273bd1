// What the start-up tests of OpenCL and Vulkan devices share. Pure, but for the clock.
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
  std::string note;  // how it was shown, or why not
};

// Whether the device may use host memory in place, into `info`, with the note: not where copies were asked for, or its
// driver is to be spared the step "zero copy"; else as `prove` finds.
void settle_zero_copy(DeviceInfo& info, bool force_copies, const Precautions& precautions,
                      const std::function<Proof()>& prove);

// [cases, 3] values a, b, c whose a * b + c differs when the product is rounded before the addition.
std::vector<float> fma_cases();
// Whether out[i], computed from case i, are those of an fma that rounds once.
bool rounded_once(std::span<const float> cases, std::span<const float> out);

// [cases, 2] values, whose first is divided by the second one, and whose root is taken.
std::vector<float> quotient_cases();
// Whether out[2 i] and out[2 i + 1] are the quotient and the root of case i, rounded once.
bool divided_exactly(std::span<const float> cases, std::span<const float> out);

// [cases, 2] words of four signed bytes, at both ends of what a byte may be and between them.
std::vector<uint32_t> packed_dot_cases();
// Whether out[i] is the sum of the four products of case i.
bool dot_is_exact(std::span<const uint32_t> cases, std::span<const int32_t> out);

// A policy passes with the note that `body` returns, and fails with the message of what it throws, or untried where the
// step "policy NAME" is to be spared.
PolicyTest test_policy(sync::Policy policy, const Precautions& precautions, const std::function<std::string()>& body);
std::string microseconds_since(Clock::time_point begin);  // "12 us"

}  // namespace tandem::gpu
