#include "engine/plan/expert_steps.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "engine/model/layer_names.h"
#include "engine/plan/expert_block.h"
#include "engine/plan/npu_graphs.h"
#include "sync/error.h"

namespace tandem {
namespace {

const ExpertLists& choices_of(const ExpertBlock& block) { return std::get<ExpertLists>(block.lists->body); }

// Values that all parts together write for one row.
int64_t width_of(const std::vector<const Operator*>& parts) {
  int64_t rows = 0;
  for (const Operator* op : parts) rows += ExpertBlock::product(op).w.rows;
  return rows;
}

// The lists must come first.
ExpertBlock block_at(std::span<const Operator> operators) {
  ExpertBlock block = expert_block_at(operators);
  TANDEM_CHECK(block.lists && block.sum && block.unit && !block.down.empty(), "the operators of a layer's experts");
  return block;
}

Operand row_at(const Operand& matrix, int64_t row, int64_t width, int64_t column) {
  return matrix ? matrix.advanced(bytes_of_floats(row * width + column)) : matrix;
}

// Walks through the operators once. At the lists of a layer, begin() decides which experts live on the NPU. Up to the
// layer's sum, place_in_layer() then replaces its operators by those of the diagram in the header. All other operators
// go where DenseOn says.
class ExpertPlanner {
 public:
  ExpertPlanner(const PlanRequest& request, const char* name, const ExpertRules& rules, DenseOn dense)
      : request_(request), on_(npu_beside(request, name)), rules_(rules), dense_(dense), placer_(request) {}

  // The lists of a layer decide about all of its experts, so begin() comes before place(). The placements stay in the
  // plan, for reports and for counting the filled rows.
  Plan plan(const char* name) {
    bool any = false;
    for (size_t i = 0; i < request_.operators.size(); ++i) {
      const Operator& op = request_.operators[i];
      any = any || std::holds_alternative<Route>(op.body);
      if (std::holds_alternative<ExpertLists>(op.body)) begin(block_at(request_.operators.subspan(i)));
      place(op);
    }
    Plan plan = placer_.finish(name);
    plan.experts = std::move(planned_);
    if (!any) plan.notes.emplace_back("the model has no experts");
    plan.notes.insert(plan.notes.end(), notes_.begin(), notes_.end());
    return plan;
  }

 private:
  // An expert on the NPU: its first row, how many it has, and the number of its group.
  struct ExpertAt {
    int64_t expert, row, capacity, group;
  };

  // Decides which experts of one layer live on the NPU. A reason against the NPU becomes a note of the plan, once for
  // all layers. Without a placement, the layer's operators go where DenseOn says.
  void begin(ExpertBlock block) {
    block_ = std::move(block);
    helper_ = -1;
    placement_ = {};
    const std::string refusal = refusal_of();
    if (!refusal.empty()) {
      note(refusal + "; experts stay on " + request_.devices[on_.others].id);
      return;
    }
    if (helper_ < 0) return;  // few tokens
    placement_ = placement();
    planned_.push_back({block_.lists->layer, tokens_of(*block_.lists), placement_});
  }

  bool is_active() const { return !placement_.resident.empty(); }

  // Says why this layer's experts cannot run on the NPU; empty: nothing speaks against it. Sets helper_ to the host
  // beside the NPU, or to the first other device that can gather. Then asks the NPU about each product with tiers.step
  // rows, since every capacity is a multiple of it. A batch of few tokens gets no helper and no reason.
  std::string refusal_of() {
    if (!request_.experts) return "there is no memory for experts' rows";
    if (const char* ends = block_.ends()) return std::string("static graphs compute no ") + ends + " of experts";
    if (tokens_of(*block_.lists) < kFewestTokens) return "";  // so few need no gathering
    std::vector<int> helpers{host_beside_npu(request_)};
    for (int d = 0; d < static_cast<int>(request_.devices.size()); ++d) helpers.push_back(d);
    const auto helper =
        std::ranges::find_if(helpers, [&](int d) { return d >= 0 && d != on_.npu && placer_.runs(d, gather(0)); });
    if (helper == helpers.end()) return "no device gathers the tokens of an expert (the host beside the NPU does)";
    helper_ = *helper;
    for (const auto* parts : {&block_.up, &block_.down}) {
      for (const Operator* op : *parts) {
        const Operator probe = product(*op, {0, 0, rules_.tiers.step, 0}, {}, {}, 0);
        if (!placer_.runs(on_.npu, probe))
          return request_.devices[on_.npu].id + " does not multiply with " + std::string(name_in_layer(op->name)) +
                 reason_of(request_.devices[on_.npu].supports(probe));
        if (!placer_.multiplies_exactly(on_.npu, probe))
          return request_.devices[on_.npu].id + " would round the weights of " + std::string(name_in_layer(op->name));
        if (placer_.graphs_on(on_.npu, probe, Padding::forbidden).empty())
          return request_.devices[on_.npu].id + " has no graph of " + std::to_string(rules_.tiers.step) + " tokens";
      }
    }
    return "";
  }

  static std::string reason_of(const Support& support) {
    return support.reason.empty() ? "" : " (" + support.reason + ")";
  }

  void note(const std::string& text) {
    if (std::ranges::find(notes_, text) == notes_.end()) notes_.push_back(text);
  }

  // N2 to N4: expected loads decide each expert's capacity tier. Experts of a tier form groups, and costs decide which
  // groups live on the NPU.
  ExpertPlacement placement() const {
    const ExpertLists& choices = choices_of(block_);
    const std::vector<double> loads = expected(choices);
    ExpertRules rules = rules_;
    // Without costs there is nothing to weigh groups by.
    if (!request_.costs) rules.residency = ResidencyRule::all;
    ExpertPlacement placement = place_experts(loads, choices.k, choices.S, block_.expert_bytes(), rules, costs());
    TANDEM_CHECK(placement.slots() <= request_.experts->rows, "the rows of experts");
    return placement;
  }

  // Tokens that each expert is expected to get, [E]. A layer without counts expects equal numbers.
  std::vector<double> expected(const ExpertLists& choices) const {
    if (const RoutingCounts* counts = request_.experts->counts) {
      const auto at = std::ranges::find(counts->layers, block_.lists->layer);
      if (at != counts->layers.end())
        return expected_loads(counts->counts[static_cast<size_t>(at - counts->layers.begin())], choices.k, choices.S);
    }
    return expected_loads(ExpertCounts(static_cast<size_t>(choices.E), 0), choices.k, choices.S);
  }

  // N4: seconds of a group on the NPU with its helper, and of tokens on the other processor, by the request's costs.
  // These include launches, so launch_seconds stays 0.
  ResidencyCosts costs() const {
    ResidencyCosts costs;
    costs.npu_seconds = [this](int64_t slots, int64_t experts) {
      double seconds =
          request_.costs.seconds(helper_, gather(slots), true) + request_.costs.seconds(helper_, unit(slots), true);
      for (const auto* parts : {&block_.up, &block_.down})
        for (const Operator* op : *parts)
          seconds +=
              static_cast<double>(experts) *
              placer_.seconds_on(on_.npu, product(*op, {0, 0, slots / experts, 0}, {}, {}, 0), Padding::forbidden);
      return seconds;
    };
    costs.other_seconds = [this](double tokens, int64_t) {
      const auto choices = static_cast<double>(choices_of(block_).S * choices_of(block_).k);
      double seconds = 0;
      for (const auto* parts : {&block_.up, &block_.down})
        for (const Operator* op : *parts)
          seconds += request_.costs.seconds(on_.others, rest(*op, tokens / choices), true);
      return seconds;
    };
    return costs;
  }

  // An active placement comes first, because it replaces the operators of the layer's experts. For DenseOn::npu only
  // matmuls go to the NPU (H1), and everything else falls through to the other device.
  void place(const Operator& op) {
    if (is_active() && place_in_layer(op)) return;
    switch (dense_) {
      case DenseOn::shared:
        placer_.place_as_tensor({&op, 1}, true);
        break;
      case DenseOn::npu:
        if (std::holds_alternative<MatMul>(op.body)) {
          placer_.place_in_graphs(op, on_.npu, on_.others, cheaper_layout(request_, on_.npu, op));
          break;
        }
        [[fallthrough]];
      case DenseOn::others:
        placer_.place_quietly(op, on_.others);
        break;
    }
  }

  // Replaces an operator of the layer's experts and returns true; false: the operator is another one. The first product
  // brings all of the NPU's groups with it. The original products remain for choices without a row on the NPU.
  bool place_in_layer(const Operator& op) {
    if (&op == block_.lists) {
      placer_.place_quietly(slots(), helper_);
    } else if (std::ranges::find(block_.up, &op) != block_.up.end()) {
      if (&op == block_.up.front()) place_groups();
      if (is_needed()) placer_.place_quietly(rest(op, placement_.expected_elsewhere), on_.others);
    } else if (&op == block_.unit) {
      if (is_needed()) placer_.place_quietly(op, on_.others);
    } else if (std::ranges::find(block_.down, &op) != block_.down.end()) {
      if (is_needed()) placer_.place_quietly(rest(op, placement_.expected_elsewhere), on_.others);
    } else if (&op == block_.sum) {
      placer_.place_quietly(sum(), helper_);
      placement_ = {};
    } else {
      return false;
    }
    return true;
  }

  // Whether a choice may have no row on the NPU.
  bool is_needed() const {
    const int64_t S = choices_of(block_).S;
    return std::ranges::any_of(placement_.capacities, [&](int64_t capacity) {
      return capacity == 0 || (capacity < S && rules_.overflow == Overflow::spill);
    });
  }

  // All experts on the NPU, in the order of their rows.
  std::vector<ExpertAt> experts() const {
    std::vector<ExpertAt> all;
    int64_t row = 0, number = 0;
    for (const ExpertGroup& group : placement_.resident) {
      for (const int64_t expert : group.experts) {
        all.push_back({expert, row, group.capacity, number});
        row += group.capacity;
      }
      ++number;
    }
    return all;
  }

  // Gives choices their rows on the NPU; takes the place of the layer's ExpertLists, which would list all choices. With
  // Overflow::drop it reads the attention's output too: tokens with short vectors there are dropped first (N7).
  Operator slots() const {
    const ExpertLists& from = choices_of(block_);
    const ExpertRowBuffers& buffers = request_.experts->buffers;
    ExpertSlots op;
    op.S = from.S, op.E = from.E, op.k = from.k, op.rows = placement_.slots();
    op.experts.resize(static_cast<size_t>(from.E));
    for (const ExpertAt& at : experts()) op.experts[static_cast<size_t>(at.expert)] = {at.row, at.capacity};
    op.ids = from.ids, op.lists = from.lists;
    op.choice_of = buffers.choice_of, op.row_of = buffers.row_of;
    if (rules_.overflow == Overflow::drop) {
      op.x = request_.experts->attention_output;
      op.width = op.x_stride = ExpertBlock::product(block_.up.front()).w.columns;
    }
    return named("expert_slots", op);
  }

  // N3: copies the tokens of each expert into the expert's slice of the buffer. Rows without a choice become zeros, the
  // padding of the static graphs. The first product shows where the tokens are, because all parts read the same input.
  Operator gather(int64_t rows) const {
    const GroupedMatMul& up = ExpertBlock::product(block_.up.front());
    GatherRows op;
    op.S = up.S, op.k = up.slots, op.rows = rows, op.width = up.w.columns;
    op.x = up.x, op.x_stride = up.x_stride;
    op.choice_of = request_.experts->buffers.choice_of, op.y = request_.experts->buffers.gathered;
    return named("expert_gather", op);
  }

  // The layer's gated linear unit over the NPU's rows. gate_up is [rows, 2 I], with the gate's columns first.
  Operator unit(int64_t rows) const {
    Glu op = std::get<Glu>(block_.unit->body);
    const ExpertRowBuffers& buffers = request_.experts->buffers;
    op.S = rows, op.rows = 1;
    op.gate = buffers.gate_up, op.up = row_at(buffers.gate_up, 0, 0, op.I);
    op.gate_stride = op.up_stride = 2 * op.I;
    op.y = buffers.activated, op.y_stride = op.I;
    return {block_.unit->name + ".rows", op, block_.unit->layer};
  }

  // The layer's own sum, which also finds results in the NPU's rows. A choice with a row there is read from `slots`,
  // and any other choice from the results of the other device.
  Operator sum() const {
    ExpertSum op = std::get<ExpertSum>(block_.sum->body);
    op.rows = placement_.slots();
    op.row_of = request_.experts->buffers.row_of, op.slots = request_.experts->buffers.found;
    return with_body(*block_.sum, op);
  }

  // The product for choices outside the NPU, of which `share` of all choices are expected.
  static Operator rest(const Operator& op, double share) {
    GroupedMatMul some = std::get<GroupedMatMul>(op.body);
    some.share = share;
    return with_body(op, some);
  }

  // An operator of the same layer as the lists, named like them: "blk.3." and its own name.
  Operator named(const char* name, OperatorBody body) const {
    const std::string& lists = block_.lists->name;
    return {lists.substr(0, lists.rfind('.') + 1) + name, std::move(body), block_.lists->layer};
  }

  // The product of one expert with the rows of its slice. x and y: the first rows of the buffers. y has `width`
  // columns, and the result begins at `column`.
  static Operator product(const Operator& grouped, const ExpertAt& at, const Operand& x, const Operand& y,
                          int64_t width, int64_t column = 0) {
    const auto& all = std::get<GroupedMatMul>(grouped.body);
    const auto& stack = all.w;
    MatMul op;
    op.S = at.capacity, op.K = op.x_stride = stack.columns, op.row_end = stack.rows;
    op.w = stack.matrix(at.expert);
    op.act_i8 = all.act_i8;
    op.x = row_at(x, at.row, stack.columns, 0);
    op.y = row_at(y, at.row, width, column), op.y_stride = std::max(width, stack.rows);
    return {grouped.name + ".g" + std::to_string(at.group), op, grouped.layer};
  }

  // N3: gathers, then runs gate and up of all groups, then the unit, then down of all groups.
  void place_groups() {
    const ExpertRowBuffers& buffers = request_.experts->buffers;
    const int64_t rows = placement_.slots();
    placer_.place_quietly(gather(rows), helper_);
    place_products(block_.up, buffers.gathered, buffers.gate_up);
    placer_.place_quietly(unit(rows), helper_);
    place_products(block_.down, buffers.activated, buffers.found);
  }

  // Each expert multiplies its own slice with its own matrices, under the name of its group. Parts write side by side:
  // the columns of a part begin behind the part before it. Padding is forbidden, because the next expert's rows lie
  // behind the slice.
  void place_products(const std::vector<const Operator*>& parts, const Operand& x, const Operand& y) {
    const int64_t width = width_of(parts);
    for (const ExpertAt& at : experts()) {
      int64_t column = 0;
      for (const Operator* part : parts) {
        const Operator op = product(*part, at, x, y, width, column);
        for (const Operator& graph : placer_.graphs_on(on_.npu, op, Padding::forbidden))
          placer_.place_quietly(graph, on_.npu);
        column += ExpertBlock::product(part).w.rows;
      }
    }
  }

  const PlanRequest& request_;
  const NpuBeside on_;
  const ExpertRules rules_;
  const DenseOn dense_;
  Placer placer_;
  ExpertBlock block_;  // of the current layer
  int helper_ = -1;    // the device that gathers and sums; -1: none
  ExpertPlacement placement_;
  std::vector<PlannedExperts> planned_;
  std::vector<std::string> notes_;
};

}  // namespace

Plan plan_with_experts(const PlanRequest& request, const char* name, ExpertRules (*rules)(ExpertRules), DenseOn dense) {
  return ExpertPlanner(request, name, rules(request.experts ? request.experts->rules : ExpertRules{}), dense)
      .plan(name);
}

}  // namespace tandem
