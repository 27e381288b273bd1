// Which plans ran, and for passes of how many tokens. `auto` and `tensor` leave the choice to the planner, so their
// names do not say which plan ran.
//
// Contract: plain values and pure functions.
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
  const std::string& last() const { return last_; }       // the plan of the last pass; "": none
  std::span<const PlanRan> list() const { return ran_; }  // in the order of their first passes

 private:
  std::vector<PlanRan> ran_;
  std::string last_;
};

// The plan that was asked for, with the plans that ran if they differ: "tensor: rows", "auto: prefill sequence and
// tensor, decode rows". Only "tensor" if `tensor` itself ran, or if nothing ran.
std::string describe_plans(const std::string& asked, std::span<const PlanRan> ran);

// Up to this many tokens a pass is bound by reading the weights, as decoding is. One choice of a plan
// holds for all of them.
inline constexpr int64_t kDecodeTokens = 4;

}  // namespace tandem
