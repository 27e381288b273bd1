#include "engine/run/machine/host_tier.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "sync/clock.h"

namespace tandem {

HostTier::HostTier(std::span<const Layer> layers, int64_t places, Read read) : places_(places), read_(std::move(read)) {
  for (const Layer& each : layers) {
    const int64_t own = std::min(places, each.records.count);
    layers_.push_back({each, HostExperts(each.records.count, own)});
    bytes_ += static_cast<uint64_t>(own) * each.records.bytes;
  }
}

void HostTier::bring(size_t index, std::span<const int32_t> needed, std::span<const int32_t> slot_of, bool of_text) {
  const double start = now_seconds();
  const int64_t reads = change(index, needed, slot_of);
  Totals& totals = of_text ? of_text_ : of_prompts_;
  totals.asked += std::ssize(needed);
  if (reads == 0) return;
  totals.reads += reads;
  totals.read_bytes += static_cast<uint64_t>(reads) * layers_[index].layer.records.bytes;
  totals.waited_seconds += now_seconds() - start;
}

void HostTier::hold(size_t index, std::span<const int32_t> needed, std::span<const int32_t> slot_of) {
  change(index, needed, slot_of);
}

// Returns how many experts were read. Pages return to the system before experts are read. So the places never have more
// pages than the budget says.
int64_t HostTier::change(size_t index, std::span<const int32_t> needed, std::span<const int32_t> slot_of) {
  Held& held = layers_[index];
  std::vector<ResidentExperts::Load> loads;
  {
    const std::scoped_lock lock(mutex_);
    const HostExperts::Changes& changes = held.experts.ask(needed, slot_of, held.copied);
    for (const int32_t expert : changes.leave) give_back(held, expert);
    for (const int32_t expert : changes.read) loads.push_back({expert, expert});
  }
  if (loads.empty()) return 0;
  try {
    read_(held.layer.records, loads, *held.layer.memory);
  } catch (...) {
    const std::scoped_lock lock(mutex_);
    for (const ResidentExperts::Load& each : loads) {
      held.experts.drop(each.expert);
      give_back(held, each.expert);
    }
    throw;
  }
  return std::ssize(loads);
}

void HostTier::give_back(const Held& held, int32_t expert) {
  const size_t bytes = held.layer.records.bytes;
  sync::Pool::discard(*held.layer.memory, static_cast<size_t>(expert) * bytes, bytes);
}

bool HostTier::holds(size_t index, int32_t expert) const {
  const std::scoped_lock lock(mutex_);
  return layers_[index].experts.holds(expert);
}

bool HostTier::begin_copy(size_t index, int32_t expert) {
  const std::scoped_lock lock(mutex_);
  Held& held = layers_[index];
  if (!held.experts.holds(expert)) return false;
  held.copied = expert;
  return true;
}

std::byte* HostTier::take_back(size_t index, int32_t expert, std::span<const int32_t> slot_of) {
  const std::scoped_lock lock(mutex_);
  Held& held = layers_[index];
  const std::optional<int32_t> leaves = held.experts.take_back(expert, slot_of, held.copied);
  if (!leaves) return nullptr;
  ++taken_back_;
  if (*leaves >= 0) give_back(held, *leaves);
  return held.layer.memory->data() + static_cast<size_t>(expert) * held.layer.records.bytes;
}

void HostTier::end_copy(size_t index) {
  const std::scoped_lock lock(mutex_);
  layers_[index].copied = -1;
}

}  // namespace tandem
