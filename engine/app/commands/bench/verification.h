// The result of comparing logits with a reference, and whether it is acceptable.
//
// Contract: if every device keeps the numeric contract (docs/numbers.md), logits are compared bit for bit. Otherwise
// they are compared within a tolerance, which is reported with its reason. Plain values.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <utility>

namespace tandem::app {

class Verification {
 public:
  // why_tolerance: the reason why equal bits cannot be required; "": they are required.
  explicit Verification(std::string why_tolerance = "") : why_tolerance_(std::move(why_tolerance)) {}

  void compare(std::span<const float> expected, std::span<const float> got);  // logits of one token
  void settle_for_tolerance(std::string why) { why_tolerance_ = std::move(why); }
  bool holds() const;  // false if nothing was compared
  bool asks_for_bits() const { return why_tolerance_.empty(); }
  const std::string& why_tolerance() const { return why_tolerance_; }

  int64_t tokens() const { return tokens_; }
  int64_t different() const { return different_; }  // number of logits with different bits
  double largest() const { return largest_; }       // largest difference of a logit; infinite if one is no number
  double allowed() const;
  std::string text() const;  // "bits", "within 0.21"

 private:
  std::string why_tolerance_;
  int64_t tokens_ = 0, different_ = 0;
  double largest_ = 0, magnitude_ = 0;  // of differences; of expected logits
};

nlohmann::json verification_json(const Verification& verification);
void require(const Verification& verification, const std::string& on);  // Error that describes the difference

}  // namespace tandem::app
