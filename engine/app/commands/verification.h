// What a comparison of logits with a reference found, and whether that may be.
//
// Contract: where every device keeps the numeric contract (docs/numbers.md) logits are compared bit for bit, elsewhere
// within a tolerance, which is reported with its reason. Plain values.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <utility>

namespace tandem::app {

class Verification {
 public:
  // why_tolerance: why bits cannot be asked for; "": they are.
  explicit Verification(std::string why_tolerance = "") : why_tolerance_(std::move(why_tolerance)) {}

  void compare(std::span<const float> expected, std::span<const float> got);  // logits of one token
  void settle_for_tolerance(std::string why) { why_tolerance_ = std::move(why); }
  bool holds() const;  // false where nothing was compared
  bool asks_for_bits() const { return why_tolerance_.empty(); }
  const std::string& why_tolerance() const { return why_tolerance_; }

  int64_t tokens() const { return tokens_; }
  int64_t different() const { return different_; }  // logits of which a bit differs
  double largest() const { return largest_; }       // difference of a logit; infinite where one is no number
  double allowed() const;
  std::string text() const;  // "bits", "within 0.21"

 private:
  std::string why_tolerance_;
  int64_t tokens_ = 0, different_ = 0;
  double largest_ = 0, magnitude_ = 0;  // of an expected logit
};

nlohmann::json verification_json(const Verification& verification);
void require(const Verification& verification, const std::string& on);  // Error naming what differs

}  // namespace tandem::app
