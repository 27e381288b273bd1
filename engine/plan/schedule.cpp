#include <algorithm>
#include <map>
#include <utility>

#include "engine/plan/plan.h"
#include "sync/error.h"

namespace tandem {
namespace {

// Who last wrote and who since read each part of each slot, per operator index.
struct Access {
  Region region;
  int placed = 0;
};

struct SlotHistory {
  std::vector<Access> writes, reads;
};

// For each placed operator: the latest operator of every other device that must have ended before it starts (-1: none).
std::vector<std::vector<int>> find_dependencies(std::span<const Placed> placed, int devices) {
  std::map<const sync::Slot*, SlotHistory> history;
  std::vector<std::vector<int>> needs(placed.size(), std::vector<int>(devices, -1));
  for (int i = 0; i < static_cast<int>(placed.size()); ++i) {
    const auto depend = [&](const std::vector<Access>& accesses, const Region& region) {
      for (const Access& access : accesses) {
        const int other = placed[access.placed].device;
        if (other != placed[i].device && overlaps(access.region, region)) {
          needs[i][other] = std::max(needs[i][other], access.placed);
        }
      }
    };
    const std::vector<Region> read = reads(placed[i].op), written = writes(placed[i].op);
    for (const Region& region : read) depend(history[region.at.slot].writes, region);
    for (const Region& region : written) {
      depend(history[region.at.slot].writes, region);
      depend(history[region.at.slot].reads, region);
    }
    // A write ends the life of what it covers; older accesses of other parts stay. (Coverage is judged by overlap,
    // which is safe for the same device's accesses because devices are in-order, and for other devices' because the
    // wait above orders them.)
    for (const Region& region : written) {
      SlotHistory& slot = history[region.at.slot];
      const auto gone = [&](const Access& a) {
        return overlaps(a.region, region) && end_of(a.region) <= end_of(region) &&
               a.region.at.offset_bytes >= region.at.offset_bytes && a.region.width_bytes <= region.width_bytes;
      };
      std::erase_if(slot.writes, gone);
      std::erase_if(slot.reads, gone);
      slot.writes.push_back({region, i});
    }
    for (const Region& region : read) {
      if (region.at.slot && region.at.slot->use() != sync::SlotUse::weights)
        history[region.at.slot].reads.push_back({region, i});
    }
  }
  return needs;
}

}  // namespace

std::string Step::name() const {
  if (operators.empty()) return "(nothing)";
  if (operators.size() == 1) return operators.front().name;
  return operators.front().name + " .. " + operators.back().name;
}

Plan schedule(std::string name, std::vector<std::string> devices, std::span<const Placed> placed) {
  const int device_count = static_cast<int>(devices.size());
  for (const Placed& p : placed) TANDEM_CHECK(p.device >= 0 && p.device < device_count, "device of " + p.op.name);
  auto needs = find_dependencies(placed, device_count);

  // Drop what is known already: devices are in-order, so once device d waited for operator j of device e, it need not
  // wait for an earlier one of e; and knowledge travels: j itself had waited for others.
  std::vector<std::vector<int>> knows(device_count,
                                      std::vector<int>(device_count, -1));  // [d][e]: latest of e that d knows ended
  std::vector<std::vector<int>> known_at(placed.size());                    // what operator i's device knew when it ran
  std::vector<bool> is_awaited(placed.size(), false);
  for (int i = 0; i < static_cast<int>(placed.size()); ++i) {
    const int d = placed[i].device;
    for (int e = 0; e < device_count; ++e) {
      int& need = needs[i][e];
      if (need <= knows[d][e]) {
        need = -1;
        continue;
      }
      is_awaited[need] = true;
      knows[d][e] = need;
      for (int f = 0; f < device_count; ++f) {
        if (f != d) knows[d][f] = std::max(knows[d][f], known_at[need][f]);
      }
    }
    known_at[i] = knows[d];
    known_at[i][d] = i;
  }

  std::vector<int> last_of(device_count, -1);
  for (int i = 0; i < static_cast<int>(placed.size()); ++i) last_of[placed[i].device] = i;
  for (int last : last_of) {
    if (last >= 0) is_awaited[last] = true;
  }

  Plan plan{std::move(name), std::move(devices), {}};
  std::vector<int> step_of(placed.size(), -1),
      open(device_count, -1);  // open: the step of a device that may still grow
  for (int i = 0; i < static_cast<int>(placed.size()); ++i) {
    const int d = placed[i].device;
    std::vector<int> waits;
    for (int e = 0; e < device_count; ++e) {
      if (needs[i][e] >= 0) waits.push_back(step_of[needs[i][e]]);
    }
    if (open[d] < 0 || !waits.empty()) {
      open[d] = static_cast<int>(plan.steps.size());
      plan.steps.push_back({d, {}, std::move(waits), false});
    }
    Step& step = plan.steps[open[d]];
    step.operators.push_back(placed[i].op);
    step_of[i] = open[d];
    if (is_awaited[i]) {
      step.signals = true;
      open[d] = -1;
    }
  }
  return plan;
}

}  // namespace tandem
