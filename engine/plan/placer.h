// Puts operators on devices one by one, as strategies do, and remembers why one had to fall back.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/plan/matmul_decisions.h"
#include "engine/plan/partition/sharing_costs.h"
#include "engine/plan/partition/token_layout.h"
#include "engine/plan/plan_request.h"

namespace tandem {

// Index of the request's first device of that kind; -1: none. require_device() throws an Error instead.
int device_of(const PlanRequest& request, DeviceKind kind);
int require_device(const PlanRequest& request, DeviceKind kind, const char* what, const char* plan);
// Error where matmuls cannot be cut between two devices.
void require_two_cutters(const PlanRequest& request, const char* plan);
// Of the host that works on the NPU's thread, in turn with it; -1: there is none.
int host_beside_npu(const PlanRequest& request);

inline constexpr int64_t kTokenBlock = 8;     // tokens that kernels take at once
inline constexpr int64_t kFewestTokens = 16;  // of a batch that is worth cutting by tokens

// The operators that run for all tokens of a batch, when there are enough of them to be cut; what follows is for the
// last tokens alone.
std::span<const Operator> whole_batch(std::span<const Operator> operators);

// For cutting a batch of S tokens: its parts are sums of the NPU's sizes, in steps of 8 tokens where there is any size,
// or few tokens.
CutLimits token_limits(const DeviceTraits& npu, int64_t S);

// A plan with every operator on the first device of a kind.
Plan all_on(const PlanRequest& request, DeviceKind kind, const char* what, const char* name);

enum class Padding : bool { forbidden, allowed };

class Placer {
 public:
  explicit Placer(const PlanRequest& request) : request_(request) {}  // borrowed

  // On `wanted` where it is supported, else on `fallback` (-1: none); each reason becomes one note of the plan.
  void place(const Operator& op, int wanted, int fallback);
  // An Error where the device does not run it.
  void place_quietly(const Operator& op, int device);
  // A matmul's rows cut between the devices by their shares (empty: equal parts). Where one of them refuses it, it is
  // named, and all of the matmul falls back to the first one.
  void place_cut(const Operator& op, std::span<const int> devices, std::vector<double> shares,
                 Padding padding = Padding::allowed);
  // A matmul on the NPU in the graphs of the layout; where the NPU refuses it, or there is no layout, on `fallback`.
  void place_in_graphs(const Operator& op, int npu, int fallback, const TokenLayout& layout);

  // An attention on `first`, or shared by it and the host beside the NPU where that is predicted to end sooner. They
  // see one cache: all of the plan's devices need the host's memory.
  void place_attention(const Operator& op, int first);

  // The products of experts on `first`, or some rows of every expert on the host beside the NPU, likewise.
  void place_grouped(const Operator& op, int first);

  // Matmuls cut by the request's shares, attention and experts shared with the host beside the NPU, everything else on
  // the first cutter. exact: matmuls that not every cutter multiplies exactly stay on the first one.
  void place_by_shares(std::span<const Operator> operators, bool exact);
  // Matmuls cut as the solver decides (H9), everything else as there. Matmuls that the NPU would round stay on
  // the first cutter too. Without costs, with shares that the user gave or with other cutters than one GPU and one NPU:
  // by shares.
  void place_as_tensor(std::span<const Operator> operators, bool exact_shares);

  // The graphs that an NPU runs for the matmul, in turn (other devices: the operator itself); none: it has no sizes for
  // it. Padding is forbidden where live tokens lie behind the operator's own.
  std::vector<Operator> graphs_on(int device, const Operator& op, Padding padding) const;
  // Predicted seconds of the operator in those graphs, with the other side at work; infinite: it cannot.
  double seconds_on(int device, const Operator& op, Padding padding) const;

  // True where the device multiplies with the bits of the others: an NPU rounds weights that are no halves
  // (docs/numbers.md). Cuts that follow measured times ask for it, so that no result depends on a timing.
  bool multiplies_exactly(int device, const Operator& op) const;
  bool runs(int device, const Operator& op) const;
  Plan finish(const char* name);

 private:
  void fall_back(const Operator& op, int device, const std::string& refusal);
  void place_decided(const Operator& op, int gpu, int npu);
  void place_uncut(const Operator& op, int first);
  int64_t attention_shares(const Operator& op, int first, int second);
  int helper_of(const Operator& op, int first) const;
  SharingCosts sharing_costs(int first, int second) const;

  const PlanRequest& request_;
  std::vector<Placed> placed_;
  std::set<std::string> noted_;
  std::vector<std::string> notes_;
  std::optional<MatMulDecisions> decisions_;
  std::map<std::vector<int64_t>, int64_t> attention_shares_;  // by shape: decided once for all layers
  std::map<std::vector<int64_t>, int64_t> grouped_rows_;
};

}  // namespace tandem
