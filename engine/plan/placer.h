// Puts operators on devices one by one, as strategies do, and remembers why one had to fall back.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/plan/strategy.h"

namespace tandem {

// Index of the request's first device of that kind; -1: none. require_device() throws an Error instead.
int device_of(const PlanRequest& request, DeviceKind kind);
int require_device(const PlanRequest& request, DeviceKind kind, const char* what, const char* plan);

inline constexpr int64_t kTokenBlock = 8;  // tokens that kernels take at once

// The operators that run for all tokens of a batch, when there are enough of them (16) to be cut; what follows is for
// the last tokens alone.
std::span<const Operator> whole_batch(std::span<const Operator> operators);

class Placer {
 public:
  explicit Placer(const PlanRequest& request) : request_(request) {}  // borrowed

  // On `wanted` where it is supported, else on `fallback` (-1: none); each reason becomes one note of the plan.
  void place(const Operator& op, int wanted, int fallback);
  // An Error where the device does not run it.
  void place_quietly(const Operator& op, int device);
  // A matmul's rows cut between the devices by their shares (empty: equal parts). Where one of them refuses it, it is
  // named, and all of the matmul falls back to the first one.
  void place_cut(const Operator& op, std::span<const int> devices, std::vector<double> shares);

  // As `tensor` has it: matmuls cut by the request's shares, everything else on the first cutter. exact: matmuls that
  // not every cutter multiplies exactly stay on the first one.
  void place_as_tensor(std::span<const Operator> operators, bool exact);

  // True where the device multiplies with the bits of the others: an NPU rounds weights that are no halves
  // (docs/numbers.md). Cuts that follow measured times ask for it, so that no result depends on a timing.
  bool multiplies_exactly(int device, const Operator& op) const;
  bool runs(int device, const Operator& op) const;
  Plan finish(const char* name);

 private:
  const PlanRequest& request_;
  std::vector<Placed> placed_;
  std::set<std::string> noted_;
  std::vector<std::string> notes_;
};

}  // namespace tandem
