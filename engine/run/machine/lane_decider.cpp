#include "engine/run/machine/lane_decider.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/device/operators/matmul.h"
#include "engine/moe/prefetch_choice.h"
#include "sync/clock.h"
#include "sync/error.h"

namespace tandem {
namespace {

// A prompt's last tokens tell policies what its text will ask for.
constexpr int64_t kTokensForPolicies = 16;
// The newest hand-over counts so much.
constexpr double kNewestHandOver = 0.2;
// So does the newest time that a guess had until its layer was decided.
constexpr double kNewestWindow = 0.2;
// Copies ahead are tried without an expectation: any gain will do.
constexpr ExpectedExperts kSomeGain{0, 1e-9};

// An empty name leaves the schedule open: the decider then takes the fastest one (divisions).
const ScheduleRule* named_rule(const std::string& schedule) {
  const ScheduleRule* rule = schedule.empty() ? nullptr : find_schedule_rule(schedule);
  TANDEM_CHECK(schedule.empty() || rule != nullptr, "a schedule of that name");
  return rule;
}

// The tokens at each expert of a layer, from the ids that its router wrote.
void count_loads(std::span<const int32_t> ids, size_t experts, std::vector<int64_t>& loads) {
  loads.assign(experts, 0);
  for (const int32_t id : ids) {
    TANDEM_CHECK(id >= 0 && static_cast<size_t>(id) < experts, "an expert of the layer");
    ++loads[static_cast<size_t>(id)];
  }
}

}  // namespace

LaneDecider::LaneDecider(std::vector<Layer> layers, Costs costs, HostTier* host)
    : layers_(std::move(layers)), host_(host), costs_(std::move(costs)), divisions_(expert_costs()) {
  int64_t slots = 0;
  std::vector<int64_t> experts;
  for (const Layer& layer : layers_)
    slots += layer.residents->slots(), experts.push_back(std::ssize(layer.residents->slot_of()));
  on_gpu_ = layers_on_gpu(experts, slots);
}

// A pass that failed may have left copies ahead on landings, which layers of this pass overwrite.
void LaneDecider::begin_pass(std::optional<bool> is_text) {
  const std::scoped_lock lock(mutex_);
  pass_ = {};
  counts_as_text_ = is_text;
  plans_.begin_pass();
  decided_ = -1;
  for (Layer& layer : layers_) layer.ahead.clear(), layer.guess_began = 0;
}

// Models have few layers, so a search is as quick as a table.
LaneDecider::Layer& LaneDecider::layer_of(int64_t layer) {
  const auto found = std::ranges::find(layers_, layer, &Layer::layer);
  TANDEM_CHECK(found != layers_.end(), "a layer with experts");
  return *found;
}

// The schedules' costs from what the lanes took so far.
ExpertCosts LaneDecider::expert_costs() const {
  ExpertCosts costs;
  costs.cpu_fixed = costs_.host.line().fixed, costs.cpu_per_token = costs_.host.line().per_token;
  costs.gpu_fixed = costs_.gpu.line().fixed, costs.gpu_per_token = costs_.gpu.line().per_token;
  costs.link_offset = costs_.hand_over;
  costs.transfer = costs_.link.line().fixed;
  return costs;
}

// A decision goes from choices to lists. The tokens at each expert are counted, and the layer's guess ends. A schedule
// divides the active experts, and the lanes' tables are written. Text also keeps what it copies.
void LaneDecider::decide(const LaneRequest& request, const LaneTables& tables) {
  double start = now_seconds();
  const std::scoped_lock lock(mutex_);
  Layer& layer = layer_of(request.layer);
  const bool keeps = request.keeps && request.sizes.turns > 0;
  if (keeps && layer.policy != nullptr) take_tokens(layer, request);
  const ScheduleRule* rule = named_rule(request.schedule);
  const std::span<const int32_t> slot_of = layer.residents->slot_of();
  count_loads(request.ids, slot_of.size(), loads_);
  layer.residents->count(loads_);
  end_guess(layer);
  find_cached(layer, request.sizes.ahead);
  find_active(loads_, cached_at_, active_);
  const int64_t tokens = std::ssize(request.ids) / request.k;
  const bool of_text = pass_is_text_ = is_text_pass(tokens), counted = counts_as_text(tokens);
  if (host_ != nullptr) {
    const double reads = now_seconds();
    bring(layer, counted);
    start += now_seconds() - reads;  // no part of the decision
  }
  if (plans_.is_open()) plans_.add(active_, divisions_, of_text, on_gpu_[index_of(layer)]);
  const LaneDivision& division = this->division(request, rule);
  decide_lanes(active_, division, slot_of, request.sizes, decision_, ahead_at_);
  if (host_ != nullptr) compute_where_they_are(layer, slot_of);
  write_decision(decision_, request.ids, request.sizes.turns, tables);
  if (keeps && of_text) keep(layer, request, tables);
  LaneTotals& totals = counted ? of_text_ : of_prompts_;
  for (LaneTotals* each : {&totals, &pass_}) count(division, *each);
  decided_ = layer.layer;  // its guesses hold from here until the next decision
  const double took = now_seconds() - start;
  totals.deciding_seconds += took, pass_.deciding_seconds += took;
}

// Experts on the landing of copies ahead are with the GPU too, so nothing is read for them.
void LaneDecider::bring(const Layer& layer, bool of_text) {
  needed_.clear();
  for (const int32_t expert : active_.ids)
    if (cached_at_[static_cast<size_t>(expert)] < 0) needed_.push_back(expert);
  host_->bring(index_of(layer), needed_, layer.residents->slot_of(), of_text);
}

// A schedule may give the host an expert that has a slot. If the host's memory does not hold it, the GPU computes it.
void LaneDecider::compute_where_they_are(const Layer& layer, std::span<const int32_t> slot_of) {
  for (const int32_t expert : active_.ids) {
    const auto at = static_cast<size_t>(expert);
    if (decision_.place[at] != ExpertPlace::host || host_->holds(index_of(layer), expert)) continue;
    TANDEM_CHECK(slot_of[at] >= 0, "an expert that is in a slot or in the host's memory");
    decision_.place[at] = ExpertPlace::slot;
    decision_.at[at] = slot_of[at];
  }
}

// The policy sees a token's experts by falling weight, of equals the lower id first.
void LaneDecider::take_tokens(Layer& layer, const LaneRequest& request) {
  const auto k = static_cast<size_t>(request.k);
  const size_t tokens = request.ids.size() / k;
  for (size_t t = tokens - std::min<size_t>(tokens, kTokensForPolicies); t < tokens; ++t) {
    token_ids_.clear(), token_weights_.clear();
    for (size_t i = t * k; i < (t + 1) * k; ++i) {
      size_t at = token_ids_.size();
      while (at > 0 && token_weights_[at - 1] < request.weights[i]) --at;
      token_ids_.insert(token_ids_.begin() + static_cast<std::ptrdiff_t>(at), request.ids[i]);
      token_weights_.insert(token_weights_.begin() + static_cast<std::ptrdiff_t>(at), request.weights[i]);
    }
    const TokenRequest token{layer.tokens++, token_ids_, token_weights_, {}};
    layer.policy->take_token(token);
    for (size_t rank = 0; rank < k; ++rank) layer.policy->take(token, rank);
  }
}

// A schedule that is open may use the link only if the plan has turns of copies. Both ways are compared, because later
// passes may have such turns.
const LaneDivision& LaneDecider::division(const LaneRequest& request, const ScheduleRule* rule) {
  const bool may_copy = request.sizes.turns > 0;
  if (rule != nullptr) return divisions_.of(active_, rule, may_copy);
  const double other = divisions_.of(active_, rule, !may_copy).seconds;
  const LaneDivision& division = divisions_.of(active_, rule, may_copy);
  // The products of a turn wait for the link, even if it copies nothing.
  const double with_link = std::max(may_copy ? division.seconds : other, costs().link_offset);
  LaneTotals& totals = counts_as_text(std::ssize(request.ids) / request.k) ? of_text_ : of_prompts_;
  for (LaneTotals* each : {&totals, &pass_}) {
    each->expected.with_link += with_link;
    each->expected.without += may_copy ? other : division.seconds;
  }
  return division;
}

// Free slots are the empty ones, and those of experts that nobody chose.
void LaneDecider::find_free_slots(const Layer& layer, std::span<const int64_t> loads) {
  empty_.clear(), may_leave_.clear();
  const std::span<const int32_t> in_slot = layer.residents->in_slot();
  for (size_t slot = 0; slot < in_slot.size(); ++slot) {
    const int32_t expert = in_slot[slot];
    if (expert < 0)
      empty_.push_back(static_cast<int32_t>(slot));
    else if (loads[static_cast<size_t>(expert)] == 0)
      may_leave_.push_back(expert);
  }
}

// An empty slot, or that of the policy's victim.
std::optional<int32_t> LaneDecider::take_slot(Layer& layer) {
  int32_t left = -1;
  if (empty_.empty()) {
    if (may_leave_.empty() || layer.policy == nullptr) return std::nullopt;
    const int32_t victim = layer.policy->victim(may_leave_);
    std::erase(may_leave_, victim);
    empty_.push_back(layer.residents->slot_of()[static_cast<size_t>(victim)]);
    layer.residents->clear(empty_.back());
    ++(counts_as_text_.value_or(true) ? of_text_ : of_prompts_).evictions;
    left = victim;
  }
  const int32_t slot = empty_.back();
  empty_.pop_back();
  note_leaving(layer, slot, left);
  return slot;
}

// Only the host's memory of a part of the experts wants them back.
void LaneDecider::note_leaving(Layer& layer, int32_t slot, int32_t expert) const {
  if (host_ == nullptr) return;
  layer.leaving.resize(static_cast<size_t>(layer.residents->slots()), -1);
  layer.leaving[static_cast<size_t>(slot)] = expert;
}

// An expert that left its slot for a copy goes back to the host's memory, if there is a place: copying it is faster
// than reading it again.
std::byte* LaneDecider::take_back(int64_t layer, int32_t slot) {
  if (host_ == nullptr) return nullptr;
  const std::scoped_lock lock(mutex_);
  Layer& of = layer_of(layer);
  if (of.leaving.empty()) return nullptr;
  const int32_t expert = std::exchange(of.leaving[static_cast<size_t>(slot)], -1);
  return expert < 0 ? nullptr : host_->take_back(index_of(of), expert, of.residents->slot_of());
}

// Copied experts get slots, and then those that the host computed, if they are inserted too.
void LaneDecider::keep(Layer& layer, const LaneRequest& request, const LaneTables& tables) {
  find_free_slots(layer, loads_);
  for (size_t t = 0; t < static_cast<size_t>(request.sizes.turns); ++t) {
    const std::span<int32_t> table = tables.keepings[t];
    for (size_t place = 0; place < decision_.moved[t].size(); ++place) {
      const std::optional<int32_t> slot = take_slot(layer);
      if (!slot) break;
      const auto at = static_cast<size_t>(1 + 3 * table[0]++);
      table[at] = static_cast<int32_t>(place);
      table[at + 1] = *slot;
      table[at + 2] = decision_.moved[t][place];
    }
  }
  if (!tables.inserts.empty()) insert(layer, tables.inserts);
}

// The host may also compute experts that have slots.
void LaneDecider::insert(Layer& layer, std::span<int32_t> table) {
  table[0] = 0;
  for (const int32_t expert : active_.ids) {
    const bool is_on_host = decision_.place[static_cast<size_t>(expert)] == ExpertPlace::host;
    if (!is_on_host || layer.residents->is_resident(expert)) continue;
    const auto at = static_cast<size_t>(1 + 3 * table[0]);
    if (at + 3 > table.size()) return;
    const std::optional<int32_t> slot = take_slot(layer);
    if (!slot) return;
    ++table[0];
    table[at] = table[at + 2] = expert;
    table[at + 1] = *slot;
  }
}

// Where experts are cached: in slots, and on the landing of copies ahead if this pass has one.
void LaneDecider::find_cached(Layer& layer, bool ahead) {
  const std::span<const int32_t> slot_of = layer.residents->slot_of();
  cached_at_.assign(slot_of.begin(), slot_of.end());
  ahead_at_.clear();
  if (ahead) {
    ahead_at_.assign(slot_of.size(), -1);
    for (size_t place = 0; layer.of_prompt && place < layer.ahead.size(); ++place) {
      const auto expert = static_cast<size_t>(layer.ahead[place]);
      cached_at_[expert] = ahead_at_[expert] = static_cast<int32_t>(place);
    }
  }
  layer.ahead.clear();
}

// The layer's own choices are known: what was copied ahead was useful or not. Guesses of the layer in front end.
void LaneDecider::end_guess(Layer& layer) {
  LaneTotals& totals = totals_of(layer);
  for (const int32_t expert : layer.ahead)
    (loads_[static_cast<size_t>(expert)] > 0 ? totals.useful_bytes : totals.wasted_bytes) += layer.ahead_bytes;
  if (decided_ < 0) return;
  Layer& front = layer_of(decided_);
  decided_ = -1;
  if (front.guess_began == 0) return;
  const double window = now_seconds() - std::exchange(front.guess_began, 0);
  double& mean = front.window[pass_is_text_];
  mean = mean < 0 ? window : mean + kNewestWindow * (window - mean);
}

bool LaneDecider::is_guessed(int64_t next) const {
  const auto found = std::ranges::find(layers_, next, &Layer::layer);
  return found != layers_.end() && holds_guess_of(found->guessed_by);
}

// The choice is made without the lock, so that no decision waits for it. A prompt takes the next place of the landing.
std::optional<CopyAhead> LaneDecider::next_ahead(const GuessRequest& guess) {
  const bool of_text = is_text_pass(guess.tokens);
  std::vector<int32_t> slot_of;
  {
    const std::scoped_lock lock(mutex_);
    if (!holds_guess_of(guess.layer)) return std::nullopt;
    Layer &front = layer_of(guess.layer), &next = layer_of(guess.next);
    next.guessed_by = guess.layer;
    const double now = now_seconds(), window = front.window[of_text];
    if (front.guess_began == 0) front.guess_began = now;
    if (window >= 0 && now - front.guess_began + costs().transfer > window) return std::nullopt;
    slot_of.assign(next.residents->slot_of().begin(), next.residents->slot_of().end());
    if (!of_text) {
      if (next.ahead.empty()) next.of_prompt = true;
      if (!next.of_prompt || std::ssize(next.ahead) == next.places) return std::nullopt;
      for (const int32_t expert : next.ahead) slot_of[static_cast<size_t>(expert)] = 0;
    }
  }
  std::vector<int64_t> loads = guessed_loads(guess.scores, guess.stride, guess.tokens, std::ssize(slot_of), guess.k);
  leave_out_absent(guess.next, loads);
  const auto best = best_prefetch(loads, slot_of, costs(), named_rule(guess.schedule));
  if (!best) return std::nullopt;
  const std::scoped_lock lock(mutex_);
  if (!holds_guess_of(guess.layer)) return std::nullopt;
  Layer& next = layer_of(guess.next);
  if (host_ != nullptr && !host_->begin_copy(index_of(next), best->expert)) return std::nullopt;
  if (!of_text) return CopyAhead{best->expert, static_cast<int32_t>(next.ahead.size())};
  if (next.ahead.empty()) next.of_prompt = false;
  find_free_slots(next, loads);
  if (const std::optional<int32_t> slot = take_slot(next)) {
    note_leaving(next, *slot, -1);  // the next decision may come while the slot is overwritten
    return CopyAhead{best->expert, *slot};
  }
  if (host_ != nullptr) host_->end_copy(index_of(next));
  return std::nullopt;
}

// Nothing can be copied of experts that are neither in a slot nor in the host's memory.
void LaneDecider::leave_out_absent(int64_t of_layer, std::span<int64_t> loads) {
  if (host_ == nullptr) return;
  const std::scoped_lock lock(mutex_);
  const Layer& layer = layer_of(of_layer);
  const std::span<const int32_t> slot_of = layer.residents->slot_of();
  for (size_t e = 0; e < loads.size(); ++e)
    if (slot_of[e] < 0 && !host_->holds(index_of(layer), static_cast<int32_t>(e))) loads[e] = 0;
}

bool LaneDecider::may_go_on(int64_t next) const {
  const std::scoped_lock lock(mutex_);
  return is_guessed(next);
}

// A copy that ends behind the decision is late, whole or not: its slot stays empty.
void LaneDecider::copied_ahead(int64_t next, const CopyAhead& copy, size_t done_bytes, size_t bytes) {
  const std::scoped_lock lock(mutex_);
  Layer& layer = layer_of(next);
  if (host_ != nullptr) host_->end_copy(index_of(layer));
  if (done_bytes < bytes || !is_guessed(next)) {
    totals_of(layer).late_bytes += done_bytes;
    return;
  }
  if (!layer.of_prompt) layer.residents->put(copy.expert, copy.slot);
  layer.ahead.push_back(copy.expert);
  layer.ahead_bytes = bytes;
}

// A copy became resident. The device's thread says so when the expert lies in its slot.
void LaneDecider::kept(int64_t layer, int32_t expert, int32_t slot) {
  const std::scoped_lock lock(mutex_);
  layer_of(layer).residents->put(expert, slot);
  ++(counts_as_text_.value_or(true) ? of_text_ : of_prompts_).kept;
}

// Counts a decision's choices by where they are computed: in a slot, on a landing or on the host.
void LaneDecider::count(const LaneDivision& division, LaneTotals& totals) const {
  ++totals.decisions;
  totals.expected_seconds += division.seconds;
  for (size_t i = 0; i < active_.ids.size(); ++i) {
    const int64_t load = active_.loads[i];
    totals.choices += load;
    switch (decision_.place[static_cast<size_t>(active_.ids[i])]) {
      case ExpertPlace::slot:
        totals.in_slots += load, ++totals.slot_experts;
        break;
      case ExpertPlace::landed:
        totals.landed += load, ++totals.landed_experts;
        totals.ahead_experts += !ahead_at_.empty() && ahead_at_[static_cast<size_t>(active_.ids[i])] >= 0;
        break;
      case ExpertPlace::host:
        totals.on_host += load, ++totals.host_experts;
        break;
      case ExpertPlace::none:
        break;
    }
  }
}

// Without a prompt so far, its tokens are expected to choose each expert about as often.
ExpectedExperts LaneDecider::expected_of_even_loads(int64_t tokens, int64_t used) const {
  ExpectedExperts expected;
  for (const Layer& layer : layers_) {
    ActiveExperts active;
    const std::span<const int32_t> slot_of = layer.residents->slot_of();
    const auto count = std::min<int64_t>(std::ssize(slot_of), tokens * used);
    for (int32_t e = 0; e < count; ++e) {
      active.ids.push_back(e);
      active.loads.push_back(std::max<int64_t>(1, tokens * used / count));
      if (e * std::ssize(slot_of) < layer.residents->slots() * count) active.cached.push_back(e);
    }
    expected.with_link += std::max(divide(active, costs(), nullptr, true).seconds, costs().link_offset);
    expected.without += divide(active, costs(), nullptr, false).seconds;
  }
  return expected;
}

LinkChoice& LaneDecider::link_of(int64_t tokens, int64_t used) {
  const auto [link, is_new] =
      links_.try_emplace(lane_length_class(tokens), is_text_pass(tokens) ? kPeriodsOfText : kPeriodsOfPrompts);
  if (is_new) link->second.begin(expected_of_even_loads(is_text_pass(tokens) ? 1 : tokens, used));
  return link->second;
}

// A link is used while its passes are faster than those without.
bool LaneDecider::uses_link(int64_t tokens, int64_t used) { return link_of(tokens, used).uses_link(); }

// An unknown link has not won.
bool LaneDecider::link_has_won(int64_t tokens) const {
  const auto found = links_.find(lane_length_class(tokens));
  return found != links_.end() && found->second.is_settled();
}

// One layer is tried first, and more of them once it has won.
int64_t LaneDecider::prefetches(int64_t tokens, bool chooses_link, int64_t most) const {
  if (most == 0 || (chooses_link && !link_has_won(tokens))) return 0;
  const auto found = prefetch_.find({lane_length_class(tokens), chooses_link});
  if (found == prefetch_.end() || !found->second.any.uses_link()) return 0;
  return found->second.any.is_settled() && found->second.deep.uses_link() ? most : 1;
}

LaneDecider::PrefetchChoices& LaneDecider::prefetch_of(const LanePass& pass) {
  const LinkPeriods& periods = is_text_pass(pass.tokens) ? kPeriodsOfText : kPeriodsOfPrompts;
  const std::pair key{lane_length_class(pass.tokens), pass.chooses_link};
  return prefetch_.try_emplace(key, PrefetchChoices{LinkChoice(periods), LinkChoice(periods)}).first->second;
}

// Such passes say how fast a variant is, and not how fast the plan is.
bool LaneDecider::tries_variant(const LanePass& pass) {
  if (pass.chooses_link && link_of(pass.tokens, pass.used).is_trying()) return true;
  if (!pass.chooses_prefetch || !pass.with_link || pass.most_prefetch == 0) return false;
  const PrefetchChoices& prefetch = prefetch_of(pass);
  return prefetch.any.is_trying() || (pass.most_prefetch > 1 && prefetch.any.is_settled() && prefetch.deep.is_trying());
}

// A pass that may choose is a sample for the choice that it was made with.
void LaneDecider::took(const LanePass& pass, double seconds) {
  const bool tries = tries_variant(pass);
  LaneTotals& totals = counts_as_text(pass.tokens) ? of_text_ : of_prompts_;
  totals.passes_with_prefetch += pass.prefetch > 0;
  totals.passes_with_deep_prefetch += pass.prefetch > 1;
  if (pass.chooses_prefetch) choose_prefetch(pass, seconds);
  if (pass.chooses_link) {
    ++(pass.with_link ? totals.passes_with_link : totals.passes_without);
    choose_link(pass, seconds);
  }
  if (pass.plan.empty()) return;
  plans_.took({.plan = pass.plan,
               .tokens = pass.tokens,
               .seconds = seconds,
               .rest_by_layers = pass.rest_by_layers,
               .variant = 4 * pass.with_link + static_cast<int>(pass.prefetch),
               .tries = tries});
}

// Passes of one token are compared, and prompts of about one length. Nothing is copied ahead while the link itself is
// on trial.
void LaneDecider::choose_prefetch(const LanePass& pass, double seconds) {
  if (pass.most_prefetch == 0 || !pass.with_link || (is_text_pass(pass.tokens) && pass.tokens != 1)) return;
  if (pass.prefetch != prefetches(pass.tokens, pass.chooses_link, pass.most_prefetch)) return;
  if (pass.chooses_link && !link_has_won(pass.tokens)) return;
  PrefetchChoices& prefetch = prefetch_of(pass);
  const double each = seconds / static_cast<double>(pass.tokens);
  if (prefetch.any.is_settled() && pass.most_prefetch > 1) prefetch.deep.took(kSomeGain, each);
  prefetch.any.took(kSomeGain, each);
  const int64_t next = prefetches(pass.tokens, pass.chooses_link, pass.most_prefetch);
  if (next != pass.prefetch)
    spdlog::debug("passes of about {} tokens go on with guesses of {} layers, after {}; the latest took {:.3f} ms",
                  pass.tokens, next, pass.prefetch, seconds * 1e3);
}

// Passes of 2 to 8 tokens belong to text, and are not compared.
void LaneDecider::choose_link(const LanePass& pass, double seconds) {
  if (is_text_pass(pass.tokens) && pass.tokens != 1) return;
  const auto each = static_cast<double>(pass.tokens);
  LinkChoice& link = link_of(pass.tokens, pass.used);
  link.took({pass_.expected.with_link / each, pass_.expected.without / each}, seconds / each);
  if (link.uses_link() != pass.with_link)
    spdlog::debug("passes of about {} tokens go on {} copies of experts; the latest took {:.3f} ms", pass.tokens,
                  pass.with_link ? "without" : "with", seconds * 1e3);
}

// Lanes learn from a measured pass what a product of an expert costs, by experts and by tokens.
void LaneDecider::learn(const LaneSeconds& lanes, int64_t tokens, double seconds) {
  const auto number = [](int64_t count) { return static_cast<double>(count); };
  costs_.gpu.add(number(pass_.slot_experts + pass_.landed_experts), number(pass_.in_slots + pass_.landed), lanes.gpu);
  costs_.host.add(number(pass_.host_experts), number(pass_.on_host), lanes.host);
  // The link's time is that of copies that were asked for.
  const int64_t copied = pass_.landed_experts - pass_.ahead_experts;
  costs_.link.add(number(copied), number(copied), lanes.link);
  if (lanes.hand_over > 0) costs_.hand_over += kNewestHandOver * (lanes.hand_over - costs_.hand_over);
  divisions_.set_costs(expert_costs());
  LaneTotals& totals = counts_as_text(tokens) ? of_text_ : of_prompts_;
  ++totals.measured_passes;
  totals.measured_expected += pass_.expected_seconds;
  LaneSeconds& sum = totals.measured;
  sum.gpu += lanes.gpu, sum.host += lanes.host, sum.link += lanes.link;
  sum.experts += lanes.experts, sum.stalls += lanes.stalls;
  // A few tokens of several texts are not compared, and layers that are split decide nothing.
  if (lanes.experts > 0 && (tokens == 1 || !pass_is_text_)) plans_.measured_rest(tokens, seconds - lanes.experts);
}

}  // namespace tandem
