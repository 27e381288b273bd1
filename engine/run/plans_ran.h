// Which plans ran, and for passes of how many tokens: `auto` and `tensor` leave the choice to what is measured, so that
// the name that was asked for does not say what ran.
//
// Contract: plain values; the text is pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tandem {

struct PlanRan {
  int64_t tokens = 0;  // of one pass
  std::string plan;    // Plan::name
  int64_t passes = 0;
  bool operator==(const PlanRan&) const = default;
};

class PlansRan {
 public:
  void add(int64_t tokens, const std::string& plan);
  void clear() { ran_.clear(); }
  std::span<const PlanRan> list() const { return ran_; }  // in the order of their first passes

 private:
  std::vector<PlanRan> ran_;
};

// "tensor" where nothing else ran (or nothing at all), else what was asked for and what was taken:
// "tensor: rows", "auto: prefill sequence and tensor, decode rows".
std::string describe_plans(const std::string& asked, std::span<const PlanRan> ran);

// Up to this many tokens a pass is bound by reading the weights, like decoding: plans are chosen for them together.
inline constexpr int64_t kDecodeTokens = 4;

}  // namespace tandem
