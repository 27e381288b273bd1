// Y6: the host's memory between the slots of a GPU and the packed file, if it holds some of the experts of each layer.
//
// Each layer has addresses for all of its experts, side by side, but memory for some of them. An expert that leaves
// gives its pages back to the system. So an expert's address never changes, and plans name experts by their numbers.
//
// Contract
//   Results: an expert that bring() was asked for can be read at its address until the next bring() of that layer.
//   Errors: a record that cannot be read or is damaged. Those experts are then absent.
//   Threads: bring() on one thread at a time; holds(), begin_copy() and end_copy() on any.
//   Ownership: borrows the memory, which has small pages.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "engine/model/expert_records.h"
#include "engine/moe/host_experts.h"
#include "engine/moe/resident_experts.h"
#include "sync/pool.h"

namespace tandem {

class HostTier {
 public:
  // Reads experts of a layer into the places that begin at `to`.
  using Read =
      std::function<void(const ExpertRecords& records, std::vector<ResidentExperts::Load> loads, const sync::Slot& to)>;
  // Sums over passes of one kind.
  struct Totals {
    int64_t asked = 0;  // experts without a slot, by layers and passes
    int64_t reads = 0;  // of them, those that were read from the file
    uint64_t read_bytes = 0;
    double waited_seconds = 0;
  };
  // A layer with experts. memory: as many places as the layer has experts.
  struct Layer {
    ExpertRecords records;
    const sync::Slot* memory = nullptr;
  };

  // places: experts of each layer that have memory.
  HostTier(std::span<const Layer> layers, int64_t places, Read read);

  int64_t places() const { return places_; }
  uint64_t bytes() const { return bytes_; }  // of all places
  // index: of the layer in the constructor's list. needed, slot_of: as in HostExperts::ask().
  void bring(size_t index, std::span<const int32_t> needed, std::span<const int32_t> slot_of, bool of_text);
  // The same between passes. No total counts it.
  void hold(size_t index, std::span<const int32_t> needed, std::span<const int32_t> slot_of);
  bool holds(size_t index, int32_t expert) const;
  // While a copy of the expert runs beside bring(), the expert stays. False: it is not there. One copy at a time.
  bool begin_copy(size_t index, int32_t expert);
  void end_copy(size_t index);
  // A place for an expert that leaves its slot, which counts as held from now on; nullptr: there is none. Not beside
  // bring() of that layer.
  std::byte* take_back(size_t index, int32_t expert, std::span<const int32_t> slot_of);
  int64_t taken_back() const { return taken_back_; }

  const Totals& of_text() const { return of_text_; }
  const Totals& of_prompts() const { return of_prompts_; }

 private:
  int64_t change(size_t index, std::span<const int32_t> needed, std::span<const int32_t> slot_of);
  struct Held {
    Layer layer;
    HostExperts experts;
    int32_t copied = -1;  // the expert that stays
  };
  static void give_back(const Held& held, int32_t expert);
  const int64_t places_;
  uint64_t bytes_ = 0;
  const Read read_;
  std::vector<Held> layers_;
  Totals of_text_, of_prompts_;
  int64_t taken_back_ = 0;
  mutable std::mutex mutex_;  // protects the layers' bookkeeping
};

}  // namespace tandem
