// The least recently used expert leaves, as in other caches. Experts with a slot leave before all others. So slots and
// the host's memory together hold as many different experts as they can.
#include "engine/moe/host_experts.h"

#include <tuple>

#include "sync/error.h"

namespace tandem {

HostExperts::HostExperts(int64_t experts, int64_t places)
    : places_(places), holds_(static_cast<size_t>(experts), false), last_(static_cast<size_t>(experts), 0) {
  TANDEM_CHECK(places >= 1, "a place for an expert");
}

const HostExperts::Changes& HostExperts::ask(std::span<const int32_t> needed, std::span<const int32_t> slot_of,
                                             int32_t stays) {
  ++asked_;
  changes_.leave.clear(), changes_.read.clear();
  for (const int32_t expert : needed) {
    last_[static_cast<size_t>(expert)] = asked_;
    if (holds(expert)) continue;
    holds_[static_cast<size_t>(expert)] = true;
    ++held_;
    changes_.read.push_back(expert);
  }
  while (held_ > places_) {
    const int32_t expert = next_to_leave(slot_of, stays);
    if (expert < 0) break;
    drop(expert);
    changes_.leave.push_back(expert);
  }
  return changes_;
}

// It counts as asked for before the last ask(), so it leaves before what that one needed.
std::optional<int32_t> HostExperts::take_back(int32_t expert, std::span<const int32_t> slot_of, int32_t stays) {
  if (holds(expert) || held_ > places_) return std::nullopt;
  int32_t leaves = -1;
  if (held_ == places_) {
    leaves = next_to_leave(slot_of, stays);
    if (leaves < 0) return std::nullopt;
    drop(leaves);
  }
  holds_[static_cast<size_t>(expert)] = true;
  last_[static_cast<size_t>(expert)] = asked_ - 1;
  ++held_;
  return leaves;
}

void HostExperts::drop(int32_t expert) {
  TANDEM_CHECK(holds(expert), "an expert in the host's memory");
  holds_[static_cast<size_t>(expert)] = false;
  --held_;
}

// Experts that the present ask() needs do not leave; -1: nobody may.
int32_t HostExperts::next_to_leave(std::span<const int32_t> slot_of, int32_t stays) const {
  const auto key = [&](int32_t expert) {
    const auto at = static_cast<size_t>(expert);
    return std::tuple(slot_of[at] < 0, last_[at]);
  };
  int32_t next = -1;
  for (int32_t expert = 0; expert < static_cast<int32_t>(holds_.size()); ++expert) {
    if (!holds(expert) || expert == stays || last_[static_cast<size_t>(expert)] == asked_) continue;
    if (next < 0 || key(expert) < key(next)) next = expert;
  }
  return next;
}

}  // namespace tandem
