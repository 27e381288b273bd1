#include "engine/app/commands/bench/verification.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>

#include "sync/error.h"

namespace tandem::app {
namespace {

// Tolerance as a share of the largest logit. Norms and softmax may round differently on each device. With f16
// activations this shifts values by whole f16 steps (2^-11), which add up over layers.
constexpr double kTolerance = 0.02;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2g", value);
  return text;
}

}  // namespace

// Both measures are kept, because the caller may settle for a tolerance only after comparing. Bits are compared as
// integers, so that 0 differs from -0. A difference that is no number counts as infinite, so no tolerance accepts it.
void Verification::compare(std::span<const float> expected, std::span<const float> got) {
  TANDEM_CHECK(expected.size() == got.size(), "logits of one vocabulary");
  ++tokens_;
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::bit_cast<uint32_t>(expected[i]) != std::bit_cast<uint32_t>(got[i])) ++different_;
    double difference = std::abs(static_cast<double>(got[i]) - static_cast<double>(expected[i]));
    if (std::isnan(difference)) difference = std::numeric_limits<double>::infinity();
    largest_ = std::max(largest_, difference);
    magnitude_ = std::max(magnitude_, std::abs(static_cast<double>(expected[i])));
  }
}

// The tolerance grows with the largest expected logit, and is never less than for a logit of 1.
double Verification::allowed() const { return asks_for_bits() ? 0 : kTolerance * std::max(1.0, magnitude_); }

// Nothing compared is not a success, so a test that was skipped by mistake fails.
bool Verification::holds() const {
  if (tokens_ == 0) return false;
  return asks_for_bits() ? different_ == 0 : std::isfinite(largest_) && largest_ <= allowed();
}

std::string Verification::text() const { return asks_for_bits() ? "bits" : "within " + number(allowed()); }

nlohmann::json verification_json(const Verification& verification) {
  return {{"bits", verification.asks_for_bits()},
          {"tokens", verification.tokens()},
          {"max_difference", verification.largest()},
          {"allowed", verification.allowed()},
          {"why_tolerance", verification.why_tolerance()}};
}

// A wrong result has no speed. The message has the counts and the tolerance, so a report of it can be judged without
// another run.
void require(const Verification& verification, const std::string& on) {
  if (verification.holds()) return;
  const std::string found =
      std::to_string(verification.different()) + " logits of " + std::to_string(verification.tokens()) +
      " tokens have other bits, largest difference " + number(verification.largest()) +
      (verification.asks_for_bits()
           ? ""
           : ", allowed " + number(verification.allowed()) + " because " + verification.why_tolerance());
  throw Error("the result is wrong, so there is nothing to time", on + ": " + found,
              "Please report this with the output of `tandem devices --json`");
}

}  // namespace tandem::app
