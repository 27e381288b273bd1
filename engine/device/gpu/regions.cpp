#include "engine/device/gpu/regions.h"

#include <algorithm>
#include <utility>

namespace tandem::gpu {
namespace {

bool same(const Region& a, const Region& b) {
  return a.at == b.at && a.rows == b.rows && a.width_bytes == b.width_bytes && a.pitch_bytes == b.pitch_bytes;
}

void add_region(std::vector<Region>& regions, const Region& region) {
  if (region.rows == 0 || region.width_bytes == 0) return;
  const bool known = std::any_of(regions.begin(), regions.end(), [&](const Region& r) { return same(r, region); });
  if (!known) regions.push_back(region);
}

}  // namespace

// An upload is needed only for memory that no earlier operator of the program has written. Memory of the device's own
// is never copied.
void collect_regions(const Operator& op, CopiedRegions& all, const KeptSlots& kept) {
  const auto stays = [&](const sync::Slot* slot) {
    return slot->use() == sync::SlotUse::device_local || kept.contains(slot);
  };
  for (const Region& region : reads(op)) {
    if (!region.at || stays(region.at.slot)) continue;
    if (region.at.slot->is_divided()) {
      if (std::ranges::find(all.divided, region.at.slot) == all.divided.end()) all.divided.push_back(region.at.slot);
      continue;
    }
    if (std::ranges::any_of(all.downloads, [&](const Region& written) { return covers(written, region); })) continue;
    add_region(region.at.slot->use() == sync::SlotUse::weights ? all.weights : all.uploads, region);
  }
  for (const Region& region : writes(op)) {
    if (region.at && !stays(region.at.slot)) add_region(all.downloads, region);
  }
}

uint64_t copied_bytes(const CopiedRegions& all) {
  uint64_t bytes = 0;
  for (const auto& regions : {all.uploads, all.downloads})
    for (const Region& region : regions) bytes += static_cast<uint64_t>(region.rows) * region.width_bytes;
  return bytes;
}

// A part without a change has never been written, and nobody reads it.
std::vector<Region> CopiedParts::take_changed(const sync::Slot& slot) {
  if (acquired_ != slot.times_acquired()) changes_.assign(slot.parts(), 0);
  acquired_ = slot.times_acquired();
  std::vector<Region> regions;
  for (size_t part = 0; part < slot.parts(); ++part) {
    const uint64_t changes = slot.changes(part);
    if (std::exchange(changes_[part], changes) == changes) continue;
    const size_t begin = part * slot.part_bytes(), bytes = std::min(slot.part_bytes(), slot.size_bytes() - begin);
    regions.push_back({{&slot, begin}, 1, bytes, bytes});
  }
  return regions;
}

}  // namespace tandem::gpu
