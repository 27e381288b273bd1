#include "engine/plan/near_memory_steps.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "engine/plan/expert_block.h"
#include "engine/plan/placer.h"
#include "sync/error.h"

namespace tandem {
namespace {

int64_t features_of(const ExpertBlock& block) { return std::get<Glu>(block.unit->body).I; }

bool is_empty(const UnitRange& part) { return part.first == part.second; }

// The place in `to` that corresponds to `at` in a buffer that begins at `first`. Shape only: nothing.
Operand moved(const Operand& at, const Operand& first, const Operand& to) {
  return at && to ? to.advanced(at.offset_bytes - first.offset_bytes) : Operand{};
}

Operand behind(const Operand& at, int64_t floats) { return at ? at.advanced(bytes_of_floats(floats)) : at; }

class UnitPlanner {
 public:
  UnitPlanner(const PlanRequest& request, const char* name, const NearMemoryRules& rules)
      : request_(request), name_(name), rules_(rules), placer_(request) {
    for (size_t d = 0; d < request.devices.size(); ++d)
      if (role_of(request.devices[d]) == DeviceRole::unit) units_.push_back(static_cast<int>(d));
    if (units_.empty()) throw Error("the plan needs near-memory units", name, "Name them: --device opencl:0,ndp:0-3");
    main_ = first_with(request.devices, DeviceRole::general);
    if (main_ < 0) main_ = require_device(request, DeviceRole::helper, "a GPU or the host", name);
  }

  Plan plan() {
    require_room();
    for (size_t i = 0; i < request_.operators.size(); ++i) {
      const Operator& op = request_.operators[i];
      if (std::holds_alternative<Route>(op.body)) begin(request_.operators.subspan(i));
      if (!is_active() || !place_in_layer(op)) place(op);
    }
    Plan plan = placer_.finish(name_);
    if (!any_) plan.notes.emplace_back("the model has no experts");
    return plan;
  }

 private:
  bool is_active() const { return block_.sum != nullptr; }

  // The host runs operators that the GPU refuses.
  void place(const Operator& op) {
    const int host = first_with(request_.devices, DeviceRole::helper);
    placer_.place(op, main_, host == main_ ? -1 : host);
  }

  // G1: the units hold all experts of the model. On demand and Fiddler read them from the host's memory.
  void require_room() {
    double experts = 0, room = 0;
    for (size_t i = 0; i < request_.operators.size(); ++i) {
      if (std::holds_alternative<ExpertFetch>(request_.operators[i].body))
        throw Error("experts that move are not in near-memory units", name_,
                    "Leave out --expert-budget and --host-budget, or take another plan");
      if (!std::holds_alternative<Route>(request_.operators[i].body)) continue;
      const ExpertBlock block = expert_block_at(request_.operators.subspan(i));
      if (block.sum)
        experts += static_cast<double>(block.expert_bytes()) *
                   static_cast<double>(ExpertBlock::product(block.up.front()).w.count);
    }
    for (const int unit : units_)
      room += static_cast<double>(request_.devices[static_cast<size_t>(unit)].near_memory.memory_bytes);
    const bool stay = rules_.shape == UnitShape::together || rules_.shape == UnitShape::whole;
    if (stay && experts > room)
      throw Error("Not supported: the experts do not fit the near-memory units",
                  std::to_string(units_.size()) + " units of " + std::to_string(static_cast<int64_t>(room)) +
                      " bytes together, experts of " + std::to_string(static_cast<int64_t>(experts)) + " bytes",
                  "Name more units, or larger ones (ndp:0-5?gib=32)");
  }

  void begin(std::span<const Operator> operators) {
    block_ = expert_block_at(operators);
    if (!is_active()) return;
    any_ = true;
    if (const char* ends = block_.ends())
      throw Error(std::string("Not supported: near-memory units compute no ") + ends + " of experts", name_,
                  "Take another plan");
    if (!request_.units) throw Error("there are no buffers for near-memory units", name_);
    if (helper_ < 0) find_helper();
    const int64_t N = std::ssize(units_);
    features_ = parts_of_units(features_of(block_), block_of_features(), N);
  }

  // The device that decides and adds up: the host, or another one that can.
  void find_helper() {
    const Operator probe = sides();
    for (int d = 0; d < static_cast<int>(request_.devices.size()) && helper_ < 0; ++d)
      if (placer_.runs(d, probe)) helper_ = d;
    if (helper_ < 0)
      throw Error("no device divides the experts between the GPU and the units", name_, "Add the host to --device");
  }

  // Features are cut in panels of rows of gate and up. Cuts by columns keep the blocks of down whole too.
  int64_t block_of_features() const {
    int64_t block = kPanelRows;
    if (request_.units->split == UnitSplit::inner && rules_.shape == UnitShape::together)
      for (const Operator* op : block_.down)
        block = std::lcm(block, block_of_columns(ExpertBlock::product(op).w.format));
    return block;
  }

  // Replaces an operator of the layer's experts and returns true; false: the operator is another one.
  bool place_in_layer(const Operator& op) {
    if (std::ranges::find(block_.up, &op) != block_.up.end()) {
      if (&op == block_.up.front()) {
        placer_.place_quietly(sides(), helper_);
        place_units();
      }
      place(of_side(op, 0));
    } else if (std::ranges::find(block_.down, &op) != block_.down.end()) {
      place(of_side(op, 0));
    } else if (&op == block_.sum) {
      placer_.place_quietly(sum(), helper_);
      block_ = {};
    } else {
      return &op == block_.lists;  // the sides have lists of their own
    }
    return true;
  }

  int64_t side_count() const { return rules_.shape == UnitShape::whole ? 1 + std::ssize(units_) : 2; }

  // The products say which tokens use their experts. The router may have chosen for more of them.
  Operator sides() const {
    const GroupedMatMul& from = ExpertBlock::product(block_.up.front());
    const UnitBuffers& buffers = request_.units->buffers;
    ExpertSides op;
    op.S = from.S, op.E = from.w.count, op.k = from.slots;
    op.layer = block_.route->layer, op.sides = side_count();
    op.ids = from.ids, op.of_side = buffers.ids, op.lists = buffers.lists;
    op.side_ids_bytes = buffers.side_ids_bytes, op.side_lists_bytes = buffers.side_lists_bytes;
    op.row_of = buffers.row_of, op.divider = request_.units->divider;
    const std::string& name = block_.route->name;
    return {name.substr(0, name.rfind('.') + 1) + "expert_sides", op, block_.route->layer};
  }

  // The product for the choices of one side alone.
  Operator of_side(const Operator& op, int64_t side) const {
    const UnitBuffers& buffers = request_.units->buffers;
    GroupedMatMul some = std::get<GroupedMatMul>(op.body);
    const auto at = static_cast<size_t>(side);
    some.ids = buffers.ids ? buffers.ids.advanced(at * buffers.side_ids_bytes) : Operand{};
    some.lists = buffers.lists ? buffers.lists.advanced(at * buffers.side_lists_bytes) : Operand{};
    some.listed_only = true;
    return with_body(op, some);
  }

  // The same in the buffers of the units. Their rows are laid out as those of the GPU.
  Operator in_units(const Operator& op, int64_t side) const {
    const UnitBuffers& buffers = request_.units->buffers;
    Operator other = of_side(op, side);
    auto& product = std::get<GroupedMatMul>(other.body);
    const bool is_down = std::ranges::find(block_.down, &op) != block_.down.end();
    const GroupedMatMul& first = ExpertBlock::product(is_down ? block_.down.front() : block_.up.front());
    if (is_down) product.x = moved(product.x, first.x, buffers.activated);
    product.y = moved(product.y, first.y, is_down ? buffers.found : buffers.gate_up);
    return other;
  }

  // The gated unit over features [begin, end) of all rows.
  Operator unit(const UnitRange& part) const {
    Glu op = std::get<Glu>(block_.unit->body);
    const UnitBuffers& buffers = request_.units->buffers;
    const Operand gate = op.gate;
    op.up = behind(moved(op.up, gate, buffers.gate_up), part.first);
    op.gate = behind(buffers.gate_up, part.first);
    op.y = behind(buffers.activated, part.first);
    op.I = part.second - part.first;
    return with_body(*block_.unit, op);
  }

  static Operator named(Operator op, const std::string& suffix) {
    op.name += suffix;
    return op;
  }
  static std::string of_unit(size_t u) { return ".u" + std::to_string(u); }

  void place_units() {
    switch (rules_.shape) {
      case UnitShape::together:
        place_together();
        break;
      case UnitShape::whole:
        for (size_t u = 0; u < units_.size(); ++u) place_whole(units_[u], static_cast<int64_t>(u) + 1, of_unit(u));
        break;
      case UnitShape::processor:
        place_whole(helper_, 1, ".host");
        break;
      case UnitShape::none:
        break;
    }
  }

  // Whole experts of one side on one device.
  void place_whole(int device, int64_t side, const std::string& suffix) {
    for (const Operator* op : block_.up) placer_.place_quietly(named(in_units(*op, side), suffix), device);
    placer_.place_quietly(named(unit({0, features_of(block_)}), suffix), device);
    for (const Operator* op : block_.down) placer_.place_quietly(named(in_units(*op, side), suffix), device);
  }

  // G2: all units on each expert.
  void place_together() {
    for (const Operator* op : block_.up)
      for (size_t u = 0; u < units_.size(); ++u) place_up(*op, u);
    for (size_t u = 0; u < units_.size(); ++u)
      if (!is_empty(features_[u])) placer_.place_quietly(named(unit(features_[u]), of_unit(u)), units_[u]);
    for (const Operator* op : block_.down)
      request_.units->split == UnitSplit::outer ? place_rows(*op) : place_columns(*op);
    if (request_.units->split == UnitSplit::inner) add_partials();
  }

  // The rows of a unit's features. Gate and up may be one matrix, with the gate's rows first. If its middle is not at
  // the edge of a panel, units take even parts of all its rows, and their gated units wait for each other's results.
  void place_up(const Operator& op, size_t u) {
    const int64_t rows = ExpertBlock::product(&op).w.rows, I = features_of(block_);
    if (rows == I) {
      place_slice(op, u, features_[u]);
    } else if (rows == 2 * I && I % kPanelRows == 0) {
      place_slice(op, u, features_[u]);
      place_slice(op, u, {I + features_[u].first, I + features_[u].second});
    } else {
      place_slice(op, u, parts_of_units(rows, kPanelRows, std::ssize(units_))[u]);
    }
  }

  void place_slice(const Operator& op, size_t u, const UnitRange& rows) {
    if (is_empty(rows)) return;
    const Operator whole = in_units(op, 1);
    placer_.place_quietly(
        {op.name + of_unit(u), slice_rows(std::get<GroupedMatMul>(whole.body), rows.first, rows.second), op.layer},
        units_[u]);
  }

  void place_rows(const Operator& op) {
    const auto parts = parts_of_units(ExpertBlock::product(&op).w.rows, kPanelRows, std::ssize(units_));
    for (size_t u = 0; u < units_.size(); ++u) place_slice(op, u, parts[u]);
  }

  // The first unit with columns writes the results, every other one a buffer of partial sums.
  void place_columns(const Operator& op) {
    const UnitBuffers& buffers = request_.units->buffers;
    for (size_t u = 0; u < units_.size(); ++u) {
      if (is_empty(features_[u])) continue;
      const Operator whole = in_units(op, 1);
      GroupedMatMul slice = slice_columns(std::get<GroupedMatMul>(whole.body), features_[u].first, features_[u].second);
      if (u > 0) slice.y = moved(slice.y, buffers.found, buffers.partials[u - 1]);
      placer_.place_quietly({op.name + of_unit(u), slice, op.layer}, units_[u]);
    }
  }

  // The GPU adds in the order of the units.
  void add_partials() {
    const auto& sum = std::get<ExpertSum>(block_.sum->body);
    for (size_t u = 1; u < units_.size(); ++u) {
      if (is_empty(features_[u])) continue;
      Add op;
      op.S = sum.S * sum.k, op.width = op.x_stride = op.y_stride = sum.width;
      op.x = request_.units->buffers.found, op.y = request_.units->buffers.partials[u - 1];
      place({block_.down.front()->name + ".add" + std::to_string(u), op, block_.sum->layer});
    }
  }

  // The layer's own sum, which also finds the results of the units.
  Operator sum() const {
    ExpertSum op = std::get<ExpertSum>(block_.sum->body);
    op.rows = op.S * op.k;
    op.row_of = request_.units->buffers.row_of, op.slots = request_.units->buffers.found;
    return with_body(*block_.sum, op);
  }

  const PlanRequest& request_;
  const char* const name_;
  const NearMemoryRules rules_;
  Placer placer_;
  std::vector<int> units_;  // devices, in the order of the request
  int main_ = -1, helper_ = -1;
  bool any_ = false;
  ExpertBlock block_;  // of the current layer
  std::vector<UnitRange> features_;
};

}  // namespace

std::vector<UnitRange> parts_of_units(int64_t count, int64_t block, int64_t units) {
  const int64_t blocks = (count + block - 1) / block;
  std::vector<UnitRange> parts;
  int64_t done = 0;
  for (int64_t u = 0; u < units; ++u) {
    const int64_t own = blocks / units + (u < blocks % units ? 1 : 0);
    parts.emplace_back(std::min(count, done * block), std::min(count, (done + own) * block));
    done += own;
  }
  return parts;
}

Plan plan_with_units(const PlanRequest& request, const char* name, const NearMemoryRules& rules) {
  return UnitPlanner(request, name, rules).plan();
}

}  // namespace tandem
