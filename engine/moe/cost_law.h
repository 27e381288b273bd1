// Y1: what experts cost on one lane, from measured passes: seconds = fixed * experts + per_token * choices.
//
// Contract: a value. add() takes sums over a pass; older passes count less. The law has no negative part. With too few
// different passes to tell both parts apart, it scales the law that it began with.
#pragma once

namespace tandem {

struct CostLine {
  double fixed = 0, per_token = 0;  // seconds
};

class CostLaw {
 public:
  explicit CostLaw(CostLine first) : first_(first), line_(first) {}
  void add(double experts, double choices, double seconds);
  const CostLine& line() const { return line_; }
  bool is_measured() const { return passes_ > 0; }

 private:
  void fit();

  CostLine first_, line_;
  double ee_ = 0, ec_ = 0, cc_ = 0, et_ = 0, ct_ = 0;  // sums of products: experts, choices, time
  int passes_ = 0;
};

}  // namespace tandem
