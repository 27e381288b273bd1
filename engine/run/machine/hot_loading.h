// Y6: reads the experts that earlier runs used most, in the background, while nobody waits for reads.
//
// A thread reads a few experts at a time into memory of its own, checks them and hands them over. hold() lets it begin
// no further read until go_on(). So the reads of a pass compete with one background read at most.
//
// Contract
//   taker: needs() and take() are called on the background thread. take() gets the bytes of one record.
//   Errors: a record that is damaged or cannot be read ends the background reading. A pass that needs the expert meets
//   the same error and reports it.
//   Threads: hold() and go_on() on one thread; totals() on any thread. The destructor waits for the present read.
//   Ownership: borrows the file and the taker.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "engine/model/packed_file.h"
#include "sync/block_reader.h"

namespace tandem {

// What is read at once: a pass that begins meanwhile shares the storage with so much, or with one expert.
inline constexpr size_t kHotBatchBytes = size_t{1} << 20;

struct HotExpert {
  size_t at = 0;  // index of its layer among those with experts
  int32_t expert = 0;
  bool operator==(const HotExpert&) const = default;
};

class HotTaker {
 public:
  virtual ~HotTaker() = default;
  virtual bool needs(const HotExpert& hot) = 0;
  virtual bool take(const HotExpert& hot, std::span<const std::byte> record) = 0;  // whether it was still needed
};

class HotLoading {
 public:
  struct Totals {
    int64_t taken = 0;
    uint64_t read_bytes = 0;
    bool has_ended = false;
  };

  // records: of the layers with experts. hot: in the order in which they are read. disk_gbps: reads take so long; 0:
  // they are not slowed down.
  HotLoading(const PackedFile& file, std::vector<ExpertRecords> records, std::vector<HotExpert> hot, HotTaker& taker,
             double disk_gbps, size_t batch_bytes = kHotBatchBytes);
  ~HotLoading();
  HotLoading(const HotLoading&) = delete;
  HotLoading& operator=(const HotLoading&) = delete;

  void hold();
  void go_on();
  Totals totals() const;

 private:
  void run(const std::stop_token& stop);
  bool read(std::span<const HotExpert> hot, std::span<std::byte> memory);
  bool may_go_on(const std::stop_token& stop);

  const PackedFile& file_;
  const std::vector<ExpertRecords> records_;
  const std::vector<HotExpert> hot_;
  HotTaker& taker_;
  const double disk_bytes_per_second_;
  const size_t batch_bytes_;  // or one record, where that is larger
  sync::BlockReader reader_;
  mutable std::mutex mutex_;  // protects the members below
  std::condition_variable_any changed_;
  bool holds_ = false;
  Totals totals_;
  std::jthread thread_;  // last: it uses all of them
};

}  // namespace tandem
