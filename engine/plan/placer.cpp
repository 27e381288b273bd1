#include "engine/plan/placer.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "engine/plan/partition/attention_cut.h"
#include "engine/plan/partition/grouped_cut.h"
#include "engine/plan/partition/part_operator.h"
#include "engine/plan/schedule.h"
#include "sync/error.h"

namespace tandem {
namespace {

// The reason of a fallback, when the NPU runs the operator but not at this number of tokens.
std::string no_graphs(const DeviceTraits& npu, const Operator& op) {
  return npu.id + " has no graphs for " + std::to_string(tokens_of(op)) + " tokens that the buffers hold";
}

// Whether the operator touches memory that one device alone has: a KV cache, or scratch.
bool stays_on_device(const Operator& op) {
  bool stays = false;
  const auto look = [&](const Region& region, bool, bool) {
    stays = stays || (region.at && region.at.slot->use() == sync::SlotUse::device_local);
  };
  for_each_region(op, std::ref(look));
  return stays;
}

}  // namespace

bool uses_cache(const Operator& op) {
  return std::holds_alternative<Attention>(op.body) || std::holds_alternative<KvAppend>(op.body);
}

// A fetch of experts stays whole: its waves follow each other.
bool fetches_experts(std::span<const Operator> operators) {
  return std::ranges::any_of(operators,
                             [](const Operator& op) { return std::holds_alternative<ExpertFetch>(op.body); });
}

// A plan that the user named must not silently run on other devices, so a missing role is an Error.
int require_device(const PlanRequest& request, DeviceRole role, const char* what, const char* plan) {
  const int device = first_with(request.devices, role);
  if (device < 0) {
    throw Error(std::string("the plan needs ") + what, plan, "Name one in --device, see `tandem devices`");
  }
  return device;
}

// With one cutter every row would stay where it is, and the name of the plan would promise too much.
void require_two_cutters(const PlanRequest& request, const char* plan) {
  if (row_cutters(request.devices).size() < 2) {
    throw Error("the plan needs two devices to cut rows between, an NPU beside a GPU or two GPUs", plan,
                "Name them in --device, see `tandem devices`");
  }
}

// A host with a thread of its own is another device, so the role alone does not find this one.
int host_beside_npu(const PlanRequest& request) {
  const int npu = first_with(request.devices, DeviceRole::graphs);
  if (npu < 0) return -1;
  const auto beside = std::ranges::find_if(request.devices, [&](const DeviceTraits& device) {
    return role_of(device) == DeviceRole::helper && device.thread_of == request.devices[static_cast<size_t>(npu)].id;
  });
  return beside == request.devices.end() ? -1 : static_cast<int>(beside - request.devices.begin());
}

// Ends at the first operator with another number of tokens (behind the last layer's cache).
std::span<const Operator> whole_batch(std::span<const Operator> operators) {
  const int64_t S = tokens_of(operators.front());
  const bool sees_later_tokens = std::ranges::any_of(operators, [](const Operator& op) {
    const auto* attention = std::get_if<Attention>(&op.body);
    return attention != nullptr && attention->sees_all;
  });
  if (S < kFewestTokens || fetches_experts(operators) || sees_later_tokens) return {};
  const auto rest = std::ranges::find_if(operators, [S](const Operator& op) { return tokens_of(op) != S; });
  return operators.first(static_cast<size_t>(rest - operators.begin()));
}

// A short batch has few multiples of the NPU's step, so finer steps leave the search something to choose from.
CutLimits token_limits(const DeviceTraits& npu, int64_t S) {
  const bool fine = npu.graph_tokens.empty() || S < 2 * npu.token_step;
  return {npu.graph_tokens, npu.row_step, fine ? kTokenBlock : npu.token_step, 0};
}

// The host fetches experts, wherever the products run.
int Placer::home_of(const Operator& op, int wanted) const {
  if (!std::holds_alternative<ExpertFetch>(op.body) || runs(wanted, op)) return wanted;
  for (int d = 0; d < static_cast<int>(request_.devices.size()); ++d)
    if (runs(d, op)) return d;
  return wanted;
}

// The note says which device refused and why, so that a user sees why a plan is slower than its name promises.
void Placer::place(const Operator& op, int wanted, int fallback) {
  wanted = home_of(op, wanted);
  const Support support = request_.devices[wanted].supports(op);
  if (support.yes) {
    placed_.push_back({wanted, op});
    return;
  }
  fall_back(op, fallback, request_.devices[wanted].id + " does not run " + kind_name(op) + ": " + support.reason);
}

// Error if the request is strict, or if `device` does not run the operator either.
void Placer::fall_back(const Operator& op, int device, const std::string& refusal) {
  if (request_.strict || device < 0 || !runs(device, op)) {
    throw Error("an operator cannot run where the plan puts it", op.name + ": " + refusal,
                request_.strict ? "Leave out --strict-device to let it fall back" : "Add a device that can run it");
  }
  if (noted_.insert(refusal).second) notes_.push_back(refusal + "; it runs on " + request_.devices[device].id);
  placed_.push_back({device, op});
}

// For devices that were asked before, or that a decision chose. Another device would contradict the decision, so there
// is no fallback.
void Placer::place_quietly(const Operator& op, int device) {
  device = home_of(op, device);
  const Support support = request_.devices[device].supports(op);
  if (!support.yes) {
    throw Error("an operator cannot run where the plan puts it",
                op.name + ": " + request_.devices[device].id + ": " + support.reason);
  }
  placed_.push_back({device, op});
}

// Collects the parts of all devices before it places any of them: if one part has no graphs, the whole matmul falls
// back. The graphs of a part on an NPU follow each other. A device with a share of 0 gets nothing.
void Placer::place_cut(const Operator& op, std::span<const int> devices, std::vector<double> shares, Padding padding) {
  const auto refuses = std::ranges::find_if(devices, [&](int device) { return !runs(device, op); });
  if (refuses != devices.end()) {
    place(op, *refuses, devices.front());
    return;
  }
  if (shares.empty()) shares.assign(devices.size(), 1.0 / static_cast<double>(devices.size()));
  if (shares.size() != devices.size() || std::abs(std::reduce(shares.begin(), shares.end()) - 1) > 1e-6) {
    throw Error(
        "the shares of a row cut must add up to 1, one share a device", op.name,
        std::to_string(devices.size()) + " devices take part, there are " + std::to_string(shares.size()) + " shares");
  }
  const MatMul& matmul = std::get<MatMul>(op.body);
  // cut_rows() counts from the operator's first row, which need not be row 0 of the matrix.
  int64_t begin = 0;
  const std::vector<int64_t> ends = cut_rows(matmul.row_end - matmul.row_begin, shares);
  std::vector<Placed> parts;
  for (size_t i = 0; i < devices.size(); begin = ends[i++]) {
    if (begin == ends[i]) continue;
    const auto graphs = graphs_on(
        devices[i], with_body(op, slice_rows(matmul, matmul.row_begin + begin, matmul.row_begin + ends[i])), padding);
    if (graphs.empty()) {
      fall_back(op, devices.front(), no_graphs(request_.devices[devices[i]], op));
      return;
    }
    for (const Operator& graph : graphs) parts.push_back({devices[i], graph});
  }
  for (const Placed& part : parts) place_quietly(part.op, part.device);
}

// An empty layout counts as a refusal, because the NPU runs only the sizes that it has compiled.
void Placer::place_in_graphs(const Operator& op, int npu, int fallback, const TokenLayout& layout) {
  if (!runs(npu, op)) {
    place(op, npu, fallback);
  } else if (layout.empty()) {
    fall_back(op, fallback, no_graphs(request_.devices[npu], op));
  } else {
    for (const Operator& graph : graph_operators(op, layout)) place_quietly(graph, npu);
  }
}

// Without padding, the buffers count as if they ended behind the matmul's own tokens.
std::vector<Operator> Placer::graphs_on(int device, const Operator& op, Padding padding) const {
  const DeviceTraits& traits = request_.devices[device];
  const auto* matmul = std::get_if<MatMul>(&op.body);
  if (matmul == nullptr || !traits.static_graphs) return {op};
  CutLimits limits = cut_limits(traits, *matmul);
  if (padding == Padding::forbidden) limits.token_room = matmul->S;
  return graph_operators(op, pipe_layout(matmul->S, limits));
}

// Graphs follow each other on the NPU, so their times add up. Infinity says that no layout fits.
double Placer::seconds_on(int device, const Operator& op, Padding padding) const {
  const std::vector<Operator> graphs = graphs_on(device, op, padding);
  if (graphs.empty()) return std::numeric_limits<double>::infinity();
  double seconds = 0;
  for (const Operator& graph : graphs) seconds += request_.costs.seconds(device, graph, true);
  return seconds;
}

// H2: every matmul is cut by rows in a fixed ratio. With `exact`, a matmul that some cutter would round stays whole, so
// its bits do not depend on the ratio.
void Placer::place_by_shares(std::span<const Operator> operators, bool exact) {
  const std::vector<int> cutters = row_cutters(request_.devices);
  for (const Operator& op : operators) {
    const MatMul* matmul = std::get_if<MatMul>(&op.body);
    const bool is_cut =
        matmul && (!exact || std::ranges::all_of(cutters, [&](int device) { return multiplies_exactly(device, op); }));
    is_cut ? place_cut(op, cutters, request_.shares.of(*matmul)) : place_uncut(op, cutters.front());
  }
}

// Operators that no cut of matmuls applies to. Some of them are shared with the host beside the NPU.
void Placer::place_uncut(const Operator& op, int first) {
  if (std::holds_alternative<Attention>(op.body))
    place_attention(op, first);
  else if (std::holds_alternative<GroupedMatMul>(op.body))
    place_grouped(op, first);
  else
    place_quietly(op, first);
}

// The host beside the NPU, if it can take a share of the first device's operator; -1: it cannot. Sharing needs costs to
// decide by, and one memory for all devices.
int Placer::helper_of(const Operator& op, int first) const {
  const int second = request_.costs ? host_beside_npu(request_) : -1;
  const bool one_memory =
      std::ranges::all_of(request_.devices, [](const DeviceTraits& each) { return each.zero_copy; });
  return second >= 0 && second != first && one_memory && runs(second, op) ? second : -1;
}

// Both devices count as working at the same time.
SharingCosts Placer::sharing_costs(int first, int second) const {
  const auto seconds = [this, first, second](bool is_second, const Operator& part) {
    return request_.costs.seconds(is_second ? second : first, part, true);
  };
  return {seconds, request_.costs.sync_seconds};
}

// The second device comes first in the plan, and the parts that merge come last.
void Placer::place_attention(const Operator& op, int first) {
  const int second = helper_of(op, first);
  if (second < 0) {
    place_quietly(op, first);
    return;
  }
  const AttentionParts parts = attention_parts(op, attention_shares(op, first, second));
  for (const Operator& part : parts.second) place_quietly(part, second);
  for (const Operator& part : parts.first) place_quietly(part, first);
  for (const Operator& part : parts.closing) place_quietly(part, first);
}

// Rows from 0 on stay on the first device, and the host takes the others. The first product of a shape decides for all.
void Placer::place_grouped(const Operator& op, int first) {
  const auto& whole = std::get<GroupedMatMul>(op.body);
  const int second = helper_of(op, first);
  if (second < 0) {
    place_quietly(op, first);
    return;
  }
  const PackedStack& w = whole.w;
  const auto [found, is_new] = grouped_rows_.try_emplace(
      {whole.S, whole.slots, w.count, w.rows, w.columns, static_cast<int64_t>(w.matrix_bytes()), whole.routed}, w.rows);
  if (is_new) found->second = best_grouped_rows(op, sharing_costs(first, second));
  const int64_t kept = found->second;
  if (kept < w.rows) place_quietly(with_body(op, slice_rows(whole, kept, w.rows)), second);
  place_quietly(with_body(op, slice_rows(whole, 0, kept)), first);
}

// The offset of the positions is a part of the key, because it says where in the batch the attention's tokens begin.
// The search asks for many predictions, and layers repeat the same few shapes. So it runs once for each of them.
int64_t Placer::attention_shares(const Operator& op, int first, int second) {
  const auto& attention = std::get<Attention>(op.body);
  const auto [found, is_new] = attention_shares_.try_emplace(
      {attention.S, attention.heads, attention.cache.kv_heads, attention.cache.head_dim, attention.cache.head_dim_v,
       static_cast<int64_t>(attention.positions.offset_bytes)},
      0);
  if (is_new) found->second = best_attention_shares(op, sharing_costs(first, second));
  return found->second;
}

// The solver decides between the two sides. Shares from the user replace its decisions.
void Placer::place_as_tensor(std::span<const Operator> operators, bool exact_shares) {
  Sides sides = sides_of(request_.devices);
  if (!request_.costs || !request_.shares.otherwise.empty() || sides.general.empty() || sides.graphs.empty()) {
    place_by_shares(operators, exact_shares);
    return;
  }
  if (!decisions_) decisions_.emplace(request_, std::move(sides));
  const Sides& both = decisions_->sides();
  for (const Operator& op : operators) {
    const bool is_exact = std::ranges::all_of(both.graphs, [&](int device) { return multiplies_exactly(device, op); });
    if (is_exact)
      place_decided(op);
    else if (std::holds_alternative<MatMul>(op.body))
      place_on_side(op, both.general);
    else
      place_uncut(op, both.general.front());
  }
}

// The general side's parts come first in the plan, as in cuts by shares. The solver runs once for each shape of a
// matmul (H9), and decisions_ keeps its results for the plan's report. Devices of one side share its parts by rows.
void Placer::place_decided(const Operator& op) {
  const Cut& cut = decisions_->of(op).chosen.cut;
  for (const Side side : {Side::general, Side::graphs}) {
    const std::vector<int>& devices = decisions_->sides().of(side);
    for (const Part& part : cut.parts) {
      if (part.side != side) continue;
      place_on_side(part_operator(op, part), devices);
    }
  }
}

// Devices that get no rows are left out, because they may not run the matmul.
void Placer::place_on_side(const Operator& op, std::span<const int> devices) {
  const RowCut cut = devices.size() > 1 ? cut_between(request_, devices, op) : RowCut{};
  std::vector<int> taking;
  std::vector<double> shares;
  for (size_t i = 0; i < cut.shares.size(); ++i)
    if (cut.shares[i] > 0) taking.push_back(devices[i]), shares.push_back(cut.shares[i]);
  if (taking.size() > 1)
    place_cut(op, taking, std::move(shares));
  else
    place_quietly(op, taking.empty() ? devices.front() : taking.front());
}

// A device that rounds still gives equal bits if 16-bit floats hold the weights of this format exactly.
bool Placer::multiplies_exactly(int device, const Operator& op) const {
  const MatMul* matmul = std::get_if<MatMul>(&op.body);
  if (matmul == nullptr || !runs(device, op)) return false;
  return !request_.devices[device].rounds_to_f16 || matmul->w.format.exact_in_f16_contract();
}

bool Placer::runs(int device, const Operator& op) const { return request_.devices[device].supports(op).yes; }

// The host runs an operator that the GPU refuses, unless one of its operands stays in the GPU's own memory.
Plan all_on(const PlanRequest& request, DeviceRole role, const char* what, const char* name) {
  const int device = require_device(request, role, what, name);
  const int host = role == DeviceRole::general ? first_with(request.devices, DeviceRole::helper) : -1;
  const bool shared = request.devices[static_cast<size_t>(device)].zero_copy;
  Placer placer(request);
  for (const Operator& op : request.operators) placer.place(op, device, shared || !stays_on_device(op) ? host : -1);
  return placer.finish(name);
}

Plan Placer::finish(const char* name) {
  std::vector<std::string> ids;
  for (const DeviceTraits& device : request_.devices) ids.push_back(device.id);
  Plan plan = schedule(name, std::move(ids), std::move(placed_));
  plan.notes = std::move(notes_);
  if (decisions_) plan.decisions = decisions_->list();
  return plan;
}

}  // namespace tandem
