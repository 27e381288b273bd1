// Y6: which experts of a layer the host's memory holds, if it holds some of them and slots of the GPU hold others.
//
// Layers ask here for the chosen experts without a slot. If there is no place, others leave. Experts with a slot
// leave first, because the GPU holds them. Then come those that were asked for longest ago, of equals the lower id.
//
// Contract: pure bookkeeping of one layer. A pass that needs more experts than places gets all of them, and the next
// ask() ends this. Threads: one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tandem {

class HostExperts {
 public:
  // Places for at least one expert.
  HostExperts(int64_t experts, int64_t places);

  // The owner of the memory first gives the places of some experts back, and then reads others.
  struct Changes {
    std::vector<int32_t> leave, read;
  };
  // needed: experts that have to be there, each once. slot_of: [E], -1: no slot. stays: an expert that does not leave,
  // or -1. The result holds until the next call. `read` counts as held from now on.
  const Changes& ask(std::span<const int32_t> needed, std::span<const int32_t> slot_of, int32_t stays = -1);
  void drop(int32_t expert);  // it could not be read
  // A place for an expert that leaves its slot. nullopt: there is none, or the expert is here. Experts that the last
  // ask() needed do not leave for it, nor does one that has a slot get it. Otherwise the one that leaves, or -1.
  std::optional<int32_t> take_back(int32_t expert, std::span<const int32_t> slot_of, int32_t stays = -1);

  bool holds(int32_t expert) const { return holds_[static_cast<size_t>(expert)]; }
  int64_t places() const { return places_; }
  int64_t held() const { return held_; }

 private:
  int32_t next_to_leave(std::span<const int32_t> slot_of, int32_t stays) const;

  const int64_t places_;
  int64_t held_ = 0, asked_ = 0;
  std::vector<bool> holds_;    // by expert
  std::vector<int64_t> last_;  // by expert: the number of the ask() that needed it last
  Changes changes_;
};

}  // namespace tandem
