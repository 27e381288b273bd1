#include "engine/plan/schedule.h"

#include <algorithm>
#include <span>
#include <unordered_map>
#include <utility>

#include "engine/plan/access.h"
#include "sync/error.h"

namespace tandem {
namespace {

// One access of an earlier operator. placed: the operator's index.
struct Past {
  Access access;
  int placed = 0;
};

// The accesses of one slot that later operators may have to wait for.
struct SlotHistory {
  std::vector<Past> writes, reads;
};

// A number for each pair of an operator and a device, in one allocation; -1 at first.
class PerDevice {
 public:
  PerDevice(size_t operators, int devices) : devices_(devices), values_(operators * static_cast<size_t>(devices), -1) {}
  std::span<int> operator[](int i) {
    return std::span(values_).subspan(static_cast<size_t>(i) * static_cast<size_t>(devices_),
                                      static_cast<size_t>(devices_));
  }

 private:
  int devices_;
  std::vector<int> values_;
};

// Finds, for each operator and each other device, the latest operator there that must have ended before (-1: none). It
// goes through the operators in order and keeps the accesses of each slot that still matter. A read depends on earlier
// writes, and a write depends on earlier writes and reads. Weights are never written, so their reads are not kept.
PerDevice find_dependencies(std::span<const Placed> placed, int devices) {
  std::unordered_map<const sync::Slot*, SlotHistory> history;
  PerDevice needs(placed.size(), devices);
  std::vector<Access> read, written;
  for (int i = 0; i < static_cast<int>(placed.size()); ++i) {
    // Operators of the same device need no entry, because a device works in order. For the same reason the latest
    // operator of another device stands for its earlier ones.
    const auto depend = [&](const std::vector<Past>& pasts, const Access& access) {
      for (const Past& past : pasts) {
        const int other = placed[past.placed].device;
        if (other != placed[i].device && meet(past.access, access))
          needs[i][other] = std::max(needs[i][other], past.placed);
      }
    };
    find_accesses(placed[i].op, read, written);
    for (const Access& access : read) depend(history[access.region.at.slot].writes, access);
    for (const Access& access : written) {
      depend(history[access.region.at.slot].writes, access);
      depend(history[access.region.at.slot].reads, access);
    }
    // A write replaces the older accesses that it covers entirely; accesses of other parts stay. Later operators then
    // wait for this write alone. This is safe: the device works in order, and for other devices the write itself waits.
    for (const Access& access : written) {
      SlotHistory& slot = history[access.region.at.slot];
      const auto gone = [&](const Past& past) { return is_covered(past.access, access); };
      std::erase_if(slot.writes, gone);
      std::erase_if(slot.reads, gone);
      slot.writes.push_back({access, i});
    }
    for (const Access& access : read) {
      const sync::Slot* slot = access.region.at.slot;
      if (slot && slot->use() != sync::SlotUse::weights) history[slot].reads.push_back({access, i});
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

// Works in three passes over the operators. The first one drops waits that other waits imply, and marks the operators
// that others wait for. The second one marks the last operator of each device, for which the end of the plan waits. The
// third one makes steps: a wait begins a step, and a marked operator ends one.
Plan schedule(std::string name, std::vector<std::string> devices, std::vector<Placed> placed) {
  const int device_count = static_cast<int>(devices.size());
  for (const Placed& p : placed) TANDEM_CHECK(p.device >= 0 && p.device < device_count, "device of " + p.op.name);
  PerDevice needs = find_dependencies(placed, device_count);

  // Devices work in order. So once device d has waited for operator j of device e, it need not wait for earlier
  // operators of e. It then also knows everything that e knew when j ran.
  std::vector<std::vector<int>> knows(
      device_count, std::vector<int>(device_count, -1));  // [d][e]: latest operator of e that d knows to have ended
  PerDevice known_at(placed.size(), device_count);        // the same for operator i's device when i ran
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
    std::ranges::copy(knows[d], known_at[i].begin());
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
  std::vector<size_t> operators_of;
  for (int i = 0; i < static_cast<int>(placed.size()); ++i) {
    const int d = placed[i].device;
    std::vector<int> waits;
    for (int e = 0; e < device_count; ++e) {
      if (needs[i][e] >= 0) waits.push_back(step_of[needs[i][e]]);
    }
    // A step waits before its first operator. So an operator that waits begins a step of its own, or the operators
    // before it would wait too.
    if (open[d] < 0 || !waits.empty()) {
      open[d] = static_cast<int>(plan.steps.size());
      plan.steps.push_back({d, {}, std::move(waits), false});
      operators_of.push_back(0);
    }
    step_of[i] = open[d];
    ++operators_of[static_cast<size_t>(open[d])];
    // The flag rises at the step's end, so the step ends here. A longer step would keep the other device waiting.
    if (is_awaited[i]) {
      plan.steps[open[d]].signals = true;
      open[d] = -1;
    }
  }
  for (size_t s = 0; s < plan.steps.size(); ++s) plan.steps[s].operators.reserve(operators_of[s]);
  for (size_t i = 0; i < placed.size(); ++i) plan.steps[step_of[i]].operators.push_back(std::move(placed[i].op));
  return plan;
}

const char* to_string(Submit submit) {
  return submit == Submit::ahead ? "ahead" : submit == Submit::follow ? "follow" : "dominant";
}

}  // namespace tandem
