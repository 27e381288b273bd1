#include "engine/plan/lane_steps.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/moe/lane_division.h"
#include "engine/plan/expert_block.h"
#include "engine/plan/placer.h"
#include "sync/error.h"

namespace tandem {
namespace {

// Each turn costs a hand-over, which a few tokens do not pay for.
constexpr int64_t kTurnsOfText = 1;
// A prompt's copies ahead have a landing for each of two layers, so its layers guess the next one alone.
constexpr int64_t kGuessedByPrompts = 1;

struct Lanes {
  int gpu = -1, host = -1, link = -1;
};

const LanesRequest& require_lanes(const PlanRequest& request, const char* name) {
  if (request.lanes == nullptr)
    throw Error("the plan needs experts that are copied into slots of the GPU", name,
                "Give --expert-budget and --expert-copies (or --link-gbps), with a mixture of experts");
  return *request.lanes;
}

int device_for(const PlanRequest& request, const OperatorBody& runs, const OperatorBody& refuses, const char* what,
               const char* name) {
  for (int d = 0; d < static_cast<int>(request.devices.size()); ++d) {
    const DeviceTraits& device = request.devices[static_cast<size_t>(d)];
    if (device.supports({"", runs}).yes && !device.supports({"", refuses}).yes) return d;
  }
  throw Error(std::string("the plan needs ") + what, name, "Name it in --device, see `tandem devices`");
}

// The host stands in for a missing GPU: its thread then computes both lanes in turn.
Lanes lanes_of(const PlanRequest& request, const char* name) {
  Lanes lanes;
  lanes.link = device_for(request, ExpertMove{}, ExpertDecide{}, "the link", name);
  for (int d = 0; d < static_cast<int>(request.devices.size()) && lanes.host < 0; ++d)
    if (request.devices[static_cast<size_t>(d)].supports({"", ExpertDecide{}}).yes) lanes.host = d;
  if (lanes.host < 0) throw Error("the plan needs the host", name, "Name it too: --device opencl:0,host");
  lanes.gpu = first_with(request.devices, DeviceRole::general);
  if (lanes.gpu < 0) lanes.gpu = lanes.host;
  return lanes;
}

const ExpertFetch& fetch_of(const ExpertBlock& block) { return std::get<ExpertFetch>(block.fetch->body); }

// A fetch must come first.
ExpertBlock fetched_block_at(std::span<const Operator> operators) {
  ExpertBlock block = expert_block_at(operators);
  TANDEM_CHECK(block.fetch && block.sum, "the sum of a layer's experts");
  return block;
}

class LanePlanner {
 public:
  LanePlanner(const PlanRequest& request, const char* name, const LaneRules& rules)
      : request_(request),
        from_(require_lanes(request, name)),
        on_(lanes_of(request, name)),
        rules_(rules),
        placer_(request) {}

  Plan plan(const char* name) {
    const bool divides = may_divide();
    for (size_t i = 0; i < request_.operators.size(); ++i) {
      const Operator& op = request_.operators[i];
      if (!divides || !std::holds_alternative<ExpertFetch>(op.body)) {
        placer_.place(op, on_.gpu, on_.host);
        continue;
      }
      const ExpertBlock block = fetched_block_at(request_.operators.subspan(i));
      place(block);
      while (&request_.operators[i] != block.sum) ++i;
    }
    place_kept();
    return placer_.finish(name);
  }

 private:
  // All layers of a pass do the same, although the last one may have fewer tokens.
  bool may_divide() const {
    return std::ranges::all_of(request_.operators, [&](const Operator& op) {
      const auto* fetch = std::get_if<ExpertFetch>(&op.body);
      return fetch == nullptr ||
             tandem::may_divide(from_.moving[static_cast<size_t>(fetch->layer)], fetch->S * fetch->k);
    });
  }

  // A stack of the layer's experts, and who is computed from it.
  struct Stack {
    Operand experts;
    int64_t count = 0;
    Operand ids, lists;
    double share = 0;
  };
  // The rows of a lane's choices.
  struct Rows {
    Operand gate_up, activated, found;
  };

  // Places one layer's experts on three lanes. First come the sizes, which follow from the tokens and the rules. Then
  // the decision, the copies, the products of each lane, and the sum of all of them. Copies that keep experts in slots
  // run behind, beside the next layer.
  void place(const ExpertBlock& block) {
    block_ = block;
    const ExpertFetch& from = fetch_of(block);
    moving_ = &from_.moving[static_cast<size_t>(from.layer)];
    TANDEM_CHECK(moving_->lanes != nullptr, "lanes of a layer with experts");
    const bool is_text = from.S <= kSmallBatch;
    layout_ = {from.S, from.k, {moving_->slots, moving_->places, std::ssize(moving_->landings), 0, false}};
    const int64_t absent = moving_->count - moving_->slots;
    if (absent <= layout_.sizes.places || is_text) layout_.sizes.turns = std::min(layout_.sizes.turns, kTurnsOfText);
    const std::string_view schedule = is_text ? rules_.text_schedule : rules_.prompt_schedule;
    if (!copies(schedule) || (schedule.empty() && !from_.uses_link)) layout_.sizes.turns = 0;
    const bool inserts = moving_->inserts_misses && is_text && rules_.keeps && layout_.sizes.turns > 0;
    layout_.sizes.inserts = inserts ? moving_->places : 0;
    const int64_t copy_turns = layout_.sizes.turns;
    const bool prefetches = rules_.prefetches && copy_turns > 0 && from_.guessed_layers > 0;
    layout_.sizes.ahead = prefetches && !is_text;
    if (layout_.sizes.ahead) ++layout_.sizes.turns;
    place_decision(is_text);
    const double share = 1.0 / static_cast<double>(2 + layout_.sizes.turns);
    for (int64_t t = 0; t < copy_turns; ++t) placer_.place_quietly(move("copy", t, false), on_.link);
    place_kept();
    if (prefetches) place_prefetch(is_text);
    // The two lanes have rows of their own, so neither waits for the other.
    const Rows on_gpu = rows_of_gpu(), on_host{from_.buffers.gate_up, from_.buffers.activated, from_.buffers.found};
    place_products("_slots", on_.gpu, on_gpu,
                   {moving_->experts, moving_->slots, table(layout_.in_slots()), table(layout_.slot_lists()), share});
    place_products("_host", on_.host, on_host,
                   {moving_->host, moving_->count, table(layout_.on_host()), Operand{}, share});
    // Experts that were copied ahead are there first.
    if (layout_.sizes.ahead)
      place_products("_ahead", on_.gpu, on_gpu,
                     {moving_->ahead, moving_->places, table(layout_.landed(copy_turns)),
                      table(layout_.landed_lists(copy_turns)), share});
    for (int64_t t = 0; t < copy_turns; ++t) {
      place_products("_turn" + std::to_string(t), on_.gpu, on_gpu,
                     {landing_of(t), moving_->places, table(layout_.landed(t)), table(layout_.landed_lists(t)), share});
    }
    ExpertSum sum = std::get<ExpertSum>(block.sum->body);
    sum.rows = layout_.choices();
    sum.row_of = table(layout_.row_of()), sum.slots = from_.buffers.found;
    placer_.place_quietly(with_body(*block.sum, sum), on_.host);
    // The copies of the next layer go first, because its products wait for them. If there is one landing, they wait for
    // it, so they cannot.
    for (int64_t t = 0; is_text && rules_.keeps && t < layout_.sizes.turns; ++t) kept_.push_back(move("keep", t, true));
    if (inserts) kept_.push_back(insert());
    if (std::ssize(moving_->landings) < 2) place_kept();
  }

  void place_kept() {
    for (Operator& op : kept_) placer_.place_quietly(std::move(op), on_.link);
    kept_.clear();
  }

  // A text's single turn alternates between two landings from layer to layer.
  const Operand& landing_of(int64_t turn) const {
    const bool alternates = layout_.sizes.copy_turns() == 1 && std::ssize(moving_->landings) > 1;
    return moving_->landings[static_cast<size_t>(alternates ? fetch_of(block_).layer % 2 : turn)];
  }

  static bool copies(std::string_view schedule) { return schedule != "fixed" && schedule != "no-transfer"; }

  Operand table(int64_t words) const {
    const Operand& tables = tables_of_layer();
    return tables ? tables.advanced(static_cast<size_t>(words) * sizeof(int32_t)) : tables;
  }

  // The decision of the next layer need not wait until the link has read this one.
  const Operand& tables_of_layer() const {
    return from_.buffers.tables[static_cast<size_t>(fetch_of(block_).layer % 2)];
  }

  Rows rows_of_gpu() const {
    const Glu& unit = std::get<Glu>(block_.unit->body);
    return {unit.gate, unit.y, std::get<ExpertSum>(block_.sum->body).x};
  }

  void place_decision(bool is_text) {
    const ExpertFetch& from = fetch_of(block_);
    ExpertDecide op;
    op.S = from.S, op.E = from.E, op.k = from.k, op.layer = from.layer;
    op.sizes = layout_.sizes;
    op.schedule = is_text ? rules_.text_schedule : rules_.prompt_schedule;
    op.keeps = rules_.keeps;
    op.ids = from.ids, op.weights = from.weights;
    op.tables = tables_of_layer();
    op.lanes = moving_->lanes;
    placer_.place_quietly(named("decide", op), on_.host);
  }

  // The copies of a turn: from the host's memory to the landing, or from the landing into slots.
  Operator move(const char* what, int64_t turn, bool keeps) const {
    ExpertMove op;
    op.S = fetch_of(block_).S, op.layer = fetch_of(block_).layer, op.most = moving_->places;
    op.expert_bytes = moving_->slot_bytes;
    op.expected = 1;
    const Operand& landing = landing_of(turn);
    op.table = table(keeps ? layout_.keepings(turn) : layout_.copies(turn));
    op.from = keeps ? landing : moving_->host, op.from_count = keeps ? moving_->places : moving_->count;
    op.to = keeps ? moving_->experts : landing, op.to_count = keeps ? moving_->slots : moving_->places;
    // The sum waits for the GPU, so the link waits for a thread, which wakes it; a kernel does not.
    if (keeps) op.keeper = moving_->lanes, op.behind = std::get<ExpertSum>(block_.sum->body).y;
    op.stays_on_gpu = keeps;
    return named(what + std::to_string(turn), op);
  }

  // Copies of experts that the host computed, into slots.
  Operator insert() const {
    ExpertMove op;
    op.S = fetch_of(block_).S, op.layer = fetch_of(block_).layer, op.most = layout_.sizes.inserts;
    op.expert_bytes = moving_->slot_bytes;
    op.expected = 1;
    op.table = table(layout_.inserts());
    op.from = moving_->host, op.from_count = moving_->count;
    op.to = moving_->experts, op.to_count = moving_->slots;
    op.keeper = moving_->lanes, op.behind = std::get<ExpertSum>(block_.sum->body).y;
    return named("insert", op);
  }

  // Y3: experts of later layers by this layer's guesses, the next one first. Copies of text go into slots. Prompts keep
  // nothing, so theirs go to the landing of the guessed layer.
  void place_prefetch(bool is_text) {
    const ExpertFetch& from = fetch_of(block_);
    const auto layer = static_cast<size_t>(from.layer);
    if (from_.guessed.empty()) return;
    const LayerRouting& guessed = from_.guessed[layer];
    const auto most = static_cast<size_t>(is_text ? from_.guessed_layers : kGuessedByPrompts);
    ExpertPrefetch op;
    op.S = from.S, op.E = from.E, op.k = from.k;
    op.layer = op.next = from.layer;
    op.scores_stride = guessed.width, op.schedule = is_text ? rules_.text_schedule : rules_.prompt_schedule;
    op.decided = table(layout_.in_slots());
    for (size_t ahead = 0; ahead < std::min(most, guessed.guesses.size()); ++ahead) {
      do ++op.next;
      while (from_.moving[static_cast<size_t>(op.next)].lanes == nullptr);
      // The last layer of a prompt routes the tokens with logits alone, so a guess for all tokens would be wrong.
      if (!is_text && tokens_of(op.next) != from.S) return;
      const MovingExperts& next = from_.moving[static_cast<size_t>(op.next)];
      op.expert_bytes = next.slot_bytes;
      op.scores = guessed.guesses[ahead];
      op.from = next.host;
      op.to = is_text ? next.experts : next.ahead, op.slots = is_text ? next.slots : next.places;
      op.lanes = next.lanes;
      placer_.place_quietly(named("prefetch" + std::to_string(ahead + 1), op), on_.link);
    }
  }

  // How many tokens a layer routes in this pass.
  int64_t tokens_of(int64_t layer) const {
    for (const Operator& op : request_.operators)
      if (const auto* fetch = std::get_if<ExpertFetch>(&op.body); fetch != nullptr && fetch->layer == layer)
        return fetch->S;
    return 0;
  }

  void place_products(const std::string& suffix, int device, const Rows& rows, const Stack& stack) {
    const Rows before = rows_of_gpu();
    for (const Operator* op : block_.up)
      place_product(*op, suffix, device, stack, {},
                    at_same_place(ExpertBlock::product(op).y, before.gate_up, rows.gate_up));
    place_ends(block_.up_ends, suffix, device, before.gate_up, rows.gate_up, stack);
    Glu unit = std::get<Glu>(block_.unit->body);
    unit.gate = rows.gate_up, unit.y = rows.activated;
    unit.up = at_same_place(std::get<Glu>(block_.unit->body).up, before.gate_up, rows.gate_up);
    placer_.place_quietly({block_.unit->name + suffix, unit, block_.unit->layer}, device);
    for (const Operator* op : block_.down)
      place_product(*op, suffix, device, stack, rows.activated,
                    at_same_place(ExpertBlock::product(op).y, before.found, rows.found));
    place_ends(block_.down_ends, suffix, device, before.found, rows.found, stack);
  }

  // Factors and biases on the rows of a lane's own choices, by the numbers of their experts.
  void place_ends(const std::vector<const Operator*>& ends, const std::string& suffix, int device,
                  const Operand& before, const Operand& rows, const Stack& stack) {
    for (const Operator* op : ends) {
      Operator end =
          with_choices(*op, at_same_place(*rows_of_choices(*op), before, rows), fetch_of(block_).ids, stack.ids);
      end.name += suffix;
      placer_.place_quietly(std::move(end), device);
    }
  }

  // x: absent: that of the operator.
  void place_product(const Operator& op, const std::string& suffix, int device, const Stack& stack, const Operand& x,
                     const Operand& y) {
    GroupedMatMul grouped = ExpertBlock::product(&op);
    grouped.w.data = at_same_place(grouped.w.data, moving_->experts, stack.experts);
    grouped.w.count = stack.count;
    grouped.ids = stack.ids, grouped.lists = stack.lists;
    grouped.listed_only = true;
    grouped.share = stack.share;
    if (x) grouped.x = x;
    grouped.y = y;
    placer_.place_quietly({op.name + suffix, grouped, op.layer}, device);
  }

  // The place that lies as far behind `to` as `operand` behind `from`.
  static Operand at_same_place(const Operand& operand, const Operand& from, const Operand& to) {
    return to ? to.advanced(operand.offset_bytes - from.offset_bytes) : to;
  }
  Operator named(const std::string& what, OperatorBody body) const {
    const std::string& fetch = block_.fetch->name;
    return {fetch.substr(0, fetch.rfind('.') + 1) + "ffn_" + what + "_exps", std::move(body), block_.fetch->layer};
  }

  const PlanRequest& request_;
  const LanesRequest& from_;
  const Lanes on_;
  const LaneRules rules_;
  Placer placer_;
  ExpertBlock block_;  // of the present layer
  const MovingExperts* moving_ = nullptr;
  LaneLayout layout_;
  std::vector<Operator> kept_;  // moves into slots that are not placed yet
};

// The same product from all experts of the layer, without a fetch.
Operator from_host_memory(const Operator& op, const MovingExperts& moving, const ExpertFetch& choices,
                          const Operand& lists) {
  GroupedMatMul grouped = std::get<GroupedMatMul>(op.body);
  grouped.w.data =
      moving.host ? moving.host.advanced(grouped.w.data.offset_bytes - moving.experts.offset_bytes) : moving.host;
  grouped.w.count = moving.count;
  grouped.ids = choices.ids, grouped.lists = lists;
  grouped.listed_only = false;
  grouped.share = 1;
  return with_body(op, grouped);
}

}  // namespace

Plan plan_with_lanes(const PlanRequest& request, const char* name, const LaneRules& rules) {
  return LanePlanner(request, name, rules).plan(name);
}

std::vector<bool> layers_on_gpu(std::span<const MovingExperts> moving) {
  int64_t slots = 0;
  std::vector<int64_t> experts;
  for (const MovingExperts& each : moving) slots += each.slots, experts.push_back(each.count);
  return layers_on_gpu(experts, slots);
}

// On shared memory the GPU reads the layers that it would hold from the host's memory.
Plan plan_by_layers(const PlanRequest& request, const char* name) {
  const LanesRequest& from = require_lanes(request, name);
  if (std::ranges::any_of(from.moving, [](const MovingExperts& each) { return each.in_host < each.count; }))
    throw Error("the plan needs all experts in the host's memory", name, "Leave out --host-budget, or name hybrimoe");
  const Lanes on = lanes_of(request, name);
  const std::vector<bool> on_gpu = layers_on_gpu(from.moving);
  Placer placer(request);
  for (size_t i = 0; i < request.operators.size(); ++i) {
    const Operator& op = request.operators[i];
    const bool hosted = op.layer >= 0 && !on_gpu[static_cast<size_t>(op.layer)];
    const int device = hosted ? on.host : on.gpu;
    const auto* fetch = std::get_if<ExpertFetch>(&op.body);
    if (fetch == nullptr) {
      placer.place(op, device, on.host);
      continue;
    }
    const MovingExperts& moving = from.moving[static_cast<size_t>(fetch->layer)];
    const ExpertBlock block = fetched_block_at(request.operators.subspan(i));
    const Operand lists = fetch->lists;
    if (lists)
      placer.place_quietly({op.name, ExpertLists{fetch->S, fetch->E, fetch->k, fetch->ids, lists}, op.layer}, device);
    const auto place = [&](const std::vector<const Operator*>& products, const std::vector<const Operator*>& ends) {
      for (const Operator* product : products)
        placer.place_quietly(from_host_memory(*product, moving, *fetch, lists), device);
      for (const Operator* end : ends)
        placer.place_quietly(with_choices(*end, *rows_of_choices(*end), fetch->ids, {}), device);
    };
    place(block.up, block.up_ends);
    placer.place_quietly(*block.unit, device);
    place(block.down, block.down_ends);
    placer.place_quietly(*block.sum, device);
    while (&request.operators[i] != block.sum) ++i;
  }
  return placer.finish(name);
}

}  // namespace tandem
