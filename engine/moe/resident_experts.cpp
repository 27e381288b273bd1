// The slots of one layer. An expert has at most one slot, and slot_of_ and in_slot_ always say the same. Loads are only
// promised here; the caller reads the weights.
#include "engine/moe/resident_experts.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "engine/moe/routing_counts.h"
#include "engine/tensor/expert_source.h"
#include "engine/tensor/routing.h"
#include "sync/error.h"

namespace tandem {
namespace {

constexpr int64_t kNoWave = -1;

}  // namespace

ResidentExperts::ResidentExperts(int64_t experts, int64_t slots)
    : slot_of_(static_cast<size_t>(experts), kNowhere),
      in_slot_(static_cast<size_t>(slots), kNobody),
      uses_(static_cast<size_t>(experts)),
      choices_(static_cast<size_t>(experts)),
      filling_(static_cast<size_t>(experts)),
      slots_(slots),
      wave_of_(static_cast<size_t>(experts), kNoWave) {
  TANDEM_CHECK(slots >= 1 && slots <= experts, "slots of a layer's experts");
  std::iota(filling_.begin(), filling_.end(), 0);
}

// Counts of earlier runs stand in for uses before the first pass, so that slots are filled with the experts that were
// used most.
void ResidentExperts::expect(std::span<const int64_t> uses) {
  TANDEM_CHECK(pass_ == 0 && uses.size() == uses_.size(), "uses of each expert, before the first pass");
  for (size_t e = 0; e < uses.size(); ++e) uses_[e].tokens = uses[e];
  std::ranges::transform(by_popularity(uses), filling_.begin(), [](int64_t e) { return static_cast<int32_t>(e); });
}

void ResidentExperts::count(std::span<const int64_t> loads) {
  std::ranges::transform(loads, choices_, choices_.begin(), std::plus<>());
}

// Slots beyond the usable ones do not count.
int32_t ResidentExperts::empty_slot() const {
  const auto end = in_slot_.begin() + slots_, found = std::find(in_slot_.begin(), end, kNobody);
  return found == end ? kNowhere : static_cast<int32_t>(found - in_slot_.begin());
}

// The budget may shrink while the engine runs. Experts in slots that go lose them.
void ResidentExperts::use_slots(int64_t slots) {
  TANDEM_CHECK(slots >= 1 && slots <= std::ssize(in_slot_), "usable slots of a layer's experts");
  for (int64_t slot = slots; slot < slots_; ++slot) clear(static_cast<int32_t>(slot));
  slots_ = slots;
  ++version_;
}

// Counts the tokens of each expert and splits the absent ones into waves. If all fit, there is one wave. Otherwise a
// turn of slots stays free for the reads of the next wave, and each later wave has a turn. Returns how many choices
// hit a slot.
int64_t ResidentExperts::ask(std::span<const int32_t> ids) {
  ++pass_;
  std::ranges::fill(wave_of_, kNoWave);
  missing_.assign(1, {});
  wave_ = 0;
  int64_t hits = 0, resident = 0;
  std::vector<int32_t> absent;
  for (const int32_t id : ids) {
    const auto expert = static_cast<size_t>(id);
    TANDEM_CHECK(id >= 0 && expert < uses_.size(), "an expert of the layer");
    if (slot_of_[expert] >= 0) ++hits;
    ++choices_[expert];
    if (uses_[expert].pass != pass_) {
      uses_[expert] = {pass_, 0};
      slot_of_[expert] >= 0 ? ++resident : (absent.push_back(id), 0);
      if (slot_of_[expert] >= 0) wave_of_[expert] = 0;
    }
    ++uses_[expert].tokens;
  }
  // The experts of the most tokens come first: the first wave's stay longest.
  std::ranges::sort(absent, [this](int32_t a, int32_t b) {
    const int64_t left = uses_[static_cast<size_t>(a)].tokens, right = uses_[static_cast<size_t>(b)].tokens;
    return left > right || (left == right && a < b);
  });
  const bool all_fit = resident + std::ssize(absent) <= slots();
  int64_t room = std::max<int64_t>(0, slots() - resident - (all_fit ? 0 : slots_of_turn(slots())));
  for (const int32_t expert : absent) {
    if (room == 0) {
      missing_.emplace_back();
      room = slots_of_turn(slots());
    }
    wave_of_[static_cast<size_t>(expert)] = std::ssize(missing_) - 1;
    missing_.back().push_back(expert);
    --room;
  }
  return hits;
}

// An empty slot, or else that of the expert that was used longest ago. Experts of this wave and of later ones keep
// theirs, because the pass still needs them.
int32_t ResidentExperts::free_slot() const {
  int32_t best = kNowhere;
  for (int32_t slot = 0; slot < static_cast<int32_t>(slots_); ++slot) {
    const int32_t expert = in_slot_[static_cast<size_t>(slot)];
    if (expert == kNobody) return slot;
    if (wave_of_[static_cast<size_t>(expert)] >= wave_) continue;
    const auto use_of = [&](int32_t of) { return uses_[static_cast<size_t>(in_slot_[static_cast<size_t>(of)])]; };
    if (best == kNowhere || use_of(slot) < use_of(best) ||
        (use_of(slot) == use_of(best) && expert < in_slot_[static_cast<size_t>(best)]))
      best = slot;
  }
  return best;
}

// The version changes with every move, so tables that were written for an older state are noticed.
void ResidentExperts::take_slot(int32_t expert, int32_t slot) {
  int32_t& before = in_slot_[static_cast<size_t>(slot)];
  if (before != kNobody) {
    slot_of_[static_cast<size_t>(before)] = kNowhere;
    ++evictions_;
  }
  before = expert;
  slot_of_[static_cast<size_t>(expert)] = slot;
  ++version_;
}

// Loads the missing experts of a wave, in their order, as long as there are slots.
std::vector<ResidentExperts::Load> ResidentExperts::load_missing(int64_t wave) {
  std::vector<Load> loads;
  if (wave >= std::ssize(missing_)) return loads;
  for (const int32_t expert : missing_[static_cast<size_t>(wave)]) {
    if (is_resident(expert)) continue;
    const int32_t slot = free_slot();
    if (slot == kNowhere) break;
    take_slot(expert, slot);
    loads.push_back({expert, slot});
  }
  return loads;
}

// By the time that a wave begins, all of its experts have slots. Reads ahead may have loaded some already.
std::vector<ResidentExperts::Load> ResidentExperts::begin_wave(int64_t wave) {
  wave_ = wave;
  std::vector<Load> loads = load_missing(wave);
  const auto is_here = [this](int32_t expert) { return is_resident(expert); };
  TANDEM_CHECK(wave >= std::ssize(missing_) || std::ranges::all_of(missing_[static_cast<size_t>(wave)], is_here),
               "a wave is no larger than its slots");
  return loads;
}

std::vector<ResidentExperts::Load> ResidentExperts::begin_ahead() { return load_missing(wave_ + 1); }

// Fills slots that are still empty with the experts that earlier runs chose most. One turn of slots stays free for what
// a pass misses.
std::vector<ResidentExperts::Load> ResidentExperts::begin_filling() {
  std::vector<Load> loads;
  auto expert = filling_.begin();
  for (int32_t slot = 0; slot < slots() - slots_of_turn(slots()); ++slot) {
    if (in_slot_[static_cast<size_t>(slot)] != kNobody) continue;
    while (is_resident(*expert)) ++expert;  // there are more experts than slots, so one is left
    take_slot(*expert, slot);
    loads.push_back({*expert, slot});
  }
  return loads;
}

int32_t ResidentExperts::place_of(int32_t expert) const {
  return is_in_wave(expert) ? slot_of_[static_cast<size_t>(expert)] : kElsewhere;
}

void ResidentExperts::clear(int32_t slot) {
  int32_t& expert = in_slot_[static_cast<size_t>(slot)];
  if (expert == kNobody) return;
  slot_of_[static_cast<size_t>(expert)] = kNowhere;
  expert = kNobody;
  ++evictions_, ++version_;
}

void ResidentExperts::put(int32_t expert, int32_t slot) {
  TANDEM_CHECK(in_slot_[static_cast<size_t>(slot)] == kNobody, "an empty slot");
  TANDEM_CHECK(slot_of_[static_cast<size_t>(expert)] == kNowhere, "an expert without a slot");
  in_slot_[static_cast<size_t>(slot)] = expert;
  slot_of_[static_cast<size_t>(expert)] = slot;
  ++version_;
}

// These experts could not be loaded, so their slots are empty again.
void ResidentExperts::drop(std::span<const Load> loads) {
  ++version_;
  for (const Load& load : loads) {
    slot_of_[static_cast<size_t>(load.expert)] = kNowhere;
    in_slot_[static_cast<size_t>(load.slot)] = kNobody;
  }
}

}  // namespace tandem
