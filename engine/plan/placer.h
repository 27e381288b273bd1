// Places operators on devices one by one, for strategies, and notes why operators had to fall back.
//
// Contract: functions are pure, and a Placer is a value that borrows its request. Indices of devices are those of the
// request. Shares of a cut add up to 1. One thread at a time.
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
#include "engine/plan/roles.h"

namespace tandem {

// Index of the request's first device with the role. Error that names `what` and the plan if there is none.
int require_device(const PlanRequest& request, DeviceRole role, const char* what, const char* plan);
// Error if the request has fewer than two row_cutters().
void require_two_cutters(const PlanRequest& request, const char* plan);
// Index of the host that takes turns with the NPU on the NPU's thread; -1: there is none.
int host_beside_npu(const PlanRequest& request);

bool uses_cache(const Operator& op);  // whether it reads or writes keys and values

inline constexpr int64_t kTokenBlock = 8;     // tokens that kernels take at once
inline constexpr int64_t kFewestTokens = 16;  // smaller batches are not cut by tokens

// The first operators, which run for all tokens of the batch. The operators behind them run for the last tokens alone.
// Empty if the batch has fewer than kFewestTokens tokens, or if experts move in it. Empty too if tokens see later ones,
// whose keys the first part would not have.
std::span<const Operator> whole_batch(std::span<const Operator> operators);

// Limits for cutting a batch of S tokens into sums of the NPU's sizes. The step is the NPU's token_step. It is
// kTokenBlock if the NPU takes any size or if the batch is shorter than two of its steps.
CutLimits token_limits(const DeviceTraits& npu, int64_t S);

// A plan with every operator on the first device with the role. The host may run operators that a GPU refuses.
Plan all_on(const PlanRequest& request, DeviceRole role, const char* what, const char* name);

// Whether the NPU's last graph for a matmul may have more tokens than are left.
enum class Padding : bool { forbidden, allowed };

class Placer {
 public:
  explicit Placer(const PlanRequest& request) : request_(request) {}  // borrowed

  // Places the operator on `wanted`, or on `fallback` (-1: none) if `wanted` does not support it. Each different reason
  // becomes one note of the plan. Error if it runs on neither, or if the request is strict and `wanted` refuses.
  void place(const Operator& op, int wanted, int fallback);
  // Places the operator without a fallback. Error if the device does not support it.
  void place_quietly(const Operator& op, int device);
  // Cuts a matmul's rows between the devices by their shares (empty: equal parts). If a device refuses the matmul, or
  // has no graphs for its part, the whole matmul falls back to the first device. A note names the device that refused.
  void place_cut(const Operator& op, std::span<const int> devices, std::vector<double> shares,
                 Padding padding = Padding::allowed);
  // Places a matmul on the NPU in the graphs of the layout. It falls back to `fallback` if the NPU refuses it or if the
  // layout is empty.
  void place_in_graphs(const Operator& op, int npu, int fallback, const TokenLayout& layout);

  // Places an attention on `first`. The host beside the NPU takes a share of it if both are then predicted to end
  // sooner. Both read one cache, so nothing is shared unless all of the plan's devices see the host's memory.
  void place_attention(const Operator& op, int first);

  // Places products of experts on `first`, or some rows of every expert on the host beside the NPU, by the same rules.
  void place_grouped(const Operator& op, int first);

  // Cuts matmuls by the request's shares. Shares attention and experts with the host beside the NPU, and places
  // everything else on the first cutter. exact: a matmul is cut only if every cutter multiplies it exactly; else it
  // stays on the first one.
  void place_by_shares(std::span<const Operator> operators, bool exact);
  // Cuts matmuls as the solver decides (H9), and places everything else as place_by_shares() does. Several GPUs form
  // one side of a cut, several NPUs the other. Matmuls that an NPU would round stay on the first cutter. Works like
  // place_by_shares() in three cases: no costs, shares from the user, or a side without a device.
  void place_as_tensor(std::span<const Operator> operators, bool exact_shares);

  // The graphs that an NPU runs one after another for a matmul; on other devices the operator itself. Empty: the NPU's
  // sizes do not fit. Padding must be forbidden if live tokens lie behind the operator's own.
  std::vector<Operator> graphs_on(int device, const Operator& op, Padding padding) const;
  // Predicted seconds of these graphs while the other side works too; infinite if there are none.
  double seconds_on(int device, const Operator& op, Padding padding) const;

  // True if the operator is a matmul whose result has the same bits on this device as on others. An NPU rounds weights
  // that 16-bit floats do not hold exactly (docs/numbers.md). Cuts by predicted times ask this first, so that no result
  // depends on a timing.
  bool multiplies_exactly(int device, const Operator& op) const;
  bool runs(int device, const Operator& op) const;
  // Makes the plan of all that was placed. Call it once: the plan takes the operators and the notes.
  Plan finish(const char* name);

 private:
  int home_of(const Operator& op, int wanted) const;
  void fall_back(const Operator& op, int device, const std::string& refusal);
  void place_decided(const Operator& op);
  void place_on_side(const Operator& op, std::span<const int> devices);
  void place_uncut(const Operator& op, int first);
  int64_t attention_shares(const Operator& op, int first, int second);
  int helper_of(const Operator& op, int first) const;
  SharingCosts sharing_costs(int first, int second) const;

  const PlanRequest& request_;
  std::vector<Placed> placed_;
  std::set<std::string> noted_;
  std::vector<std::string> notes_;
  std::optional<MatMulDecisions> decisions_;
  // By shape, decided once for all layers: the second device's shares, and the rows that the first device keeps.
  std::map<std::vector<int64_t>, int64_t> attention_shares_;
  std::map<std::vector<int64_t>, int64_t> grouped_rows_;
};

}  // namespace tandem
