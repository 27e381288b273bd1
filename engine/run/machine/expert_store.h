// Y6: experts that do not fit the memory. They lie in the packed file, and each layer has slots for some of them.
//
// A pass asks for the experts of a layer between the router and the products (ExpertFetch). The store reads missing
// ones into slots, with one read each, past the page cache, and checks their checksums. ResidentExperts decides which
// experts leave. While a wave is computed, the experts of the next one are read. A prompt that chooses most experts
// fills empty slots of the next layer before that layer's router has chosen.
//
// A store may begin with the experts that earlier runs used most (begin_with()). It reads them in the background, as
// long as no pass runs. A pass never waits for such a read.
//
// With copies (ExpertCopies) slots stand for the memory of a GPU. The host's memory holds all experts, or as many as a
// budget allows (HostTier). Missing experts are then copied from the host's memory, or read if they are not there.
// Plans may divide experts between lanes instead (LaneDecider).
//
// Contract
//   Budget: all layers have the same number of slots. The memory of all slots is in the pool from the constructor on.
//   Some of them may be given back to the system for a while (use_slots()).
//   Results have the same bits as if all experts were in memory.
//   Errors: a record that cannot be read or is damaged; fetch() throws, and the experts of this wave are absent. The
//   next pass may ask for them again.
//   Threads: fetch() on one thread at a time; totals() while no pass runs. Ownership: borrows pool and file.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/model/packed_file.h"
#include "engine/moe/hot_experts.h"
#include "engine/moe/resident_experts.h"
#include "engine/moe/routing_counts.h"
#include "engine/run/machine/host_tier.h"
#include "engine/run/machine/hot_loading.h"
#include "engine/run/machine/lane_decider.h"
#include "engine/tensor/expert_source.h"
#include "sync/block_reader.h"
#include "sync/pool.h"

namespace tandem {

// Experts that are copied from the host's memory into slots. gbps: a fetch copies no faster, in 1e9 bytes a second; 0:
// it is not slowed down. host_slower: as in MachineOptions; both only for the first guess of costs. in_host: experts of
// each layer that the host's memory holds; 0: all of them.
struct ExpertCopies {
  double gbps = 0, host_slower = 1;
  std::string policy = "auto";
  bool insert_misses = false;  // as in ModelOptions
  int64_t in_host = 0;
};

class ExpertStore final : public ExpertSource, private HotTaker {
 public:
  // Sums over passes of one kind.
  struct Totals {
    int64_t choices = 0;  // pairs of a token and an expert
    int64_t hits = 0;     // of them, those whose expert was in a slot when its layer began
    int64_t loads = 0;    // experts that were read
    uint64_t read_bytes = 0;
    double waited_seconds = 0;  // for reads
    double hit_rate() const { return choices == 0 ? 0 : static_cast<double>(hits) / static_cast<double>(choices); }
  };

  // C11: reads of one layer's experts that were asked for together. Times are those of now_seconds().
  struct FileRead {
    int64_t layer = 0, experts = 0;
    uint64_t bytes = 0;
    double start = 0, end = 0;
  };

  // layers: of the model. slots: of each layer that has experts.
  ExpertStore(sync::Pool& pool, const PackedFile& file, std::span<const ExpertRecords> records, int64_t layers,
              int64_t slots, const std::optional<ExpertCopies>& copies = std::nullopt, double disk_gbps = 0);
  ~ExpertStore() override;
  ExpertStore(const ExpertStore&) = delete;
  ExpertStore& operator=(const ExpertStore&) = delete;

  std::span<const MovingExperts> moving() const { return moving_; }  // one for each layer of the model
  void fetch(const WaveRequest& request, std::span<int32_t> places) override;
  // The next pass counts as text, or as a prompt. Without such a call a pass of at most kSmallBatch tokens is text.
  void begin_pass(bool is_text) { pass_is_text_ = is_text; }

  LaneDecider* lanes() const { return lanes_.get(); }        // nullptr: without copies
  const HostTier* host_tier() const { return tier_.get(); }  // nullptr: the host's memory holds all experts, or none
  // With copies, before the first pass: slots begin with the first experts.
  void begin_with_first();
  // With copies, before the first pass: slots begin with the experts of the highest counts.
  void hold_most_used(const RoutingCounts& counts);
  // Before the first pass: begins with the most used experts. With copies they have slots at once. Otherwise they are
  // read in the background, into slots that are empty. earlier: of one model with uses().
  void begin_with(const HotExperts& earlier);
  // What passes chose so far. The name of the packed file is left empty. No pass runs meanwhile.
  HotExperts uses() const;
  HotLoading::Totals of_hot() const { return hot_ ? hot_->totals() : HotLoading::Totals{}; }
  // By slot: its expert, or -1. layer: of the model, one with experts.
  std::span<const int32_t> in_slots(int64_t layer) const;
  std::string policy() const { return copies_ ? copies_->policy : "lru"; }
  bool inserts_misses() const { return copies_ && copies_->insert_misses; }
  // Between passes, without copies: the first slots of each layer are used from now on, at most as many as in the
  // constructor. The system gets the memory of the others. Plans that were made before no longer hold.
  void use_slots(int64_t slots);
  struct SlotChanges {
    int64_t given_back = 0, taken_again = 0;  // slots of each layer
    int64_t version = 0;                      // of the slots
  };
  const SlotChanges& slot_changes() const { return changes_; }
  int64_t slots() const { return slots_; }  // of each layer, usable
  int64_t most_slots() const { return most_slots_; }
  int64_t experts() const { return experts_; }  // of a layer, the most
  size_t bytes() const { return bytes_; }       // of all slots
  size_t expert_bytes() const { return layers_.empty() ? 0 : layers_.front().records.bytes; }
  size_t landing_bytes() const { return landing_bytes_; }
  int64_t evictions() const;
  std::string how() const { return reader_.how(); }
  // For traces, while no pass runs: whether reads are recorded from now on, and what was recorded since the last call.
  void record_reads(bool on) { records_reads_ = on; }
  std::vector<FileRead> take_reads();
  const Totals& of_text() const { return of_text_; }
  const Totals& of_prompts() const { return of_prompts_; }

 private:
  struct Layer {
    ExpertRecords records;
    ResidentExperts residents;
    sync::Slot* memory = nullptr;
    sync::Slot* host = nullptr;  // with copies: addresses of all experts
  };
  void take_host_memory();
  void fill(Layer& layer, std::span<const int64_t> order);
  bool needs(const HotExpert& hot) override;
  bool take(const HotExpert& hot, std::span<const std::byte> record) override;
  void make_lanes();
  void copy(const Layer& layer, std::span<const ResidentExperts::Load> loads);
  // Into places of `to`, which lie side by side. A read that was started is waited for.
  void read(const ExpertRecords& records, std::vector<ResidentExperts::Load> loads, const sync::Slot& to);
  void start_reading(const ExpertRecords& records, std::vector<ResidentExperts::Load> loads, const sync::Slot& to);
  size_t index_of(const Layer& layer) const {
    return static_cast<size_t>(index_of_[static_cast<size_t>(layer.records.layer)]);
  }
  void wait_for_reads();
  void end_recorded_read();
  std::vector<ResidentExperts::Load> begin_wave(Layer& layer, int64_t wave);
  void drop(Layer& layer, std::span<const ResidentExperts::Load> loads);
  void read_ahead(size_t index, const WaveRequest& request, Totals& totals);
  void end_reading_ahead();
  void abandon_reading_ahead();
  static void count(std::span<const ResidentExperts::Load> loads, const Layer& layer, Totals& totals);

  sync::Pool& pool_;
  const PackedFile& file_;
  const int64_t most_slots_;
  int64_t slots_;
  SlotChanges changes_;
  int64_t experts_ = 0;
  size_t bytes_ = 0, landing_bytes_ = 0;
  const std::optional<ExpertCopies> copies_;
  const double disk_bytes_per_second_;  // 0: reads are not slowed down
  double reads_end_ = 0;                // reads that began so far end no sooner
  std::deque<Layer> layers_;            // those with experts; lanes borrow their residents
  std::vector<int64_t> index_of_;       // by the model's layer: its index in layers_; -1: it has no experts
  std::vector<MovingExperts> moving_;
  Totals of_text_, of_prompts_;
  std::optional<bool> pass_is_text_;
  // Experts that are being read while a wave is computed: those of the next wave, or behind the last wave those for
  // empty slots of the next layer. Without a layer there are none.
  struct Ahead {
    Layer* layer = nullptr;
    std::vector<ResidentExperts::Load> loads;
  };
  Ahead ahead_;
  bool records_reads_ = false;
  std::deque<FileRead> file_reads_;  // the last ones
  std::atomic<double> arrived_{0};   // when the last record of a read was there
  sync::BlockReader reader_;
  std::vector<sync::Slot*> landings_;
  std::unique_ptr<HostTier> tier_;
  std::unique_ptr<LaneDecider> lanes_;
  std::mutex mutex_;  // protects the residents and the memory of empty slots from the background
  std::unique_ptr<HotLoading> hot_;
};

}  // namespace tandem
