// Y4, Y6: which experts of a layer are in its slots, and what a pass has to load.
//
// A pass takes its experts in waves (engine/tensor/expert_source.h). The first wave has the chosen experts that are
// resident, and fills other slots with the chosen experts of the most tokens. Each later wave loads the next ones
// into the slots of least use. So every expert is loaded at most once, and the experts of the most tokens stay. The
// loads of the next wave may begin while a wave is computed (begin_ahead()).
//
// The use of an expert: the last pass that chose it, then its tokens in that pass. The lower id of equal ones leaves.
// Experts that earlier runs chose often are expected (expect()): without a pass so far, they leave last.
//
// Contract: pure bookkeeping of one layer. ask() begins a pass, begin_wave() its waves in order, and begin_ahead() may
// follow each of them. drop() takes back experts that could not be loaded. Threads: one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tandem {

class ResidentExperts {
 public:
  struct Load {
    int32_t expert = 0, slot = 0;
    bool operator==(const Load&) const = default;
  };

  ResidentExperts(int64_t experts, int64_t slots);

  // ids: the experts that the tokens of a pass chose, each in [0, experts). Returns how many choices found
  // their expert resident.
  int64_t ask(std::span<const int32_t> ids);
  // The experts that this wave still has to load, and where to. Waves behind the last one have none.
  std::vector<Load> begin_wave(int64_t wave);
  // The experts of the next wave for which there are slots beside this wave.
  std::vector<Load> begin_ahead();
  bool has_later_waves() const { return wave_ + 1 < std::ssize(missing_); }  // of the pass
  // Before ask(): experts for empty slots, the most expected ones first. The slots of a turn stay free.
  std::vector<Load> begin_filling();
  // Before the first pass: choices of each expert in earlier runs, [E]. Equal ones come in the order of their ids.
  void expect(std::span<const int64_t> uses);
  // The expert's slot if it belongs to the wave that has begun, else kElsewhere.
  int32_t place_of(int32_t expert) const;
  void drop(std::span<const Load> loads);

  int64_t slots() const { return slots_; }  // that are usable
  // Between passes: only the first slots are used from now on. Experts of the others leave. slots: at most as many as
  // in the constructor.
  void use_slots(int64_t slots);
  // By expert: its slot, or -1. By slot: its expert, or -1.
  std::span<const int32_t> slot_of() const { return slot_of_; }
  std::span<const int32_t> in_slot() const { return in_slot_; }
  void clear(int32_t slot);                     // the expert in it leaves
  void put(int32_t expert, int32_t slot);       // into an empty slot
  int32_t empty_slot() const;                   // the first one; -1: there is none
  int64_t version() const { return version_; }  // changes whenever a slot changes its expert

  // By expert: how often it was chosen so far. ask() counts; a pass without ask() calls count().
  std::span<const int64_t> choices() const { return choices_; }
  void count(std::span<const int64_t> loads);  // [E]
  bool is_resident(int32_t expert) const { return slot_of_[static_cast<size_t>(expert)] >= 0; }
  int64_t evictions() const { return evictions_; }

 private:
  struct Use {
    int64_t pass = 0, tokens = 0;
    auto operator<=>(const Use&) const = default;
  };
  static constexpr int32_t kNobody = -1, kNowhere = -1;

  bool is_in_wave(int32_t expert) const { return wave_of_[static_cast<size_t>(expert)] == wave_; }
  // Nobody's, or that of the expert of least use that neither this wave nor a later one needs; -1: there is none.
  int32_t free_slot() const;
  void take_slot(int32_t expert, int32_t slot);
  std::vector<Load> load_missing(int64_t wave);

  std::vector<int32_t> slot_of_;  // by expert
  std::vector<int32_t> in_slot_;  // by slot: its expert
  std::vector<Use> uses_;         // by expert
  std::vector<int64_t> choices_;  // by expert
  std::vector<int32_t> filling_;  // experts in the order in which empty slots get them
  int64_t slots_ = 0;
  int64_t pass_ = 0, evictions_ = 0, version_ = 0;
  // The pass that was asked for last: the wave of each expert, and the missing ones in the order in which they come.
  std::vector<int64_t> wave_of_;
  std::vector<std::vector<int32_t>> missing_;  // by wave
  int64_t wave_ = 0;
};

}  // namespace tandem
