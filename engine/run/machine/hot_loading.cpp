#include "engine/run/machine/hot_loading.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "sync/affinity.h"
#include "sync/clock.h"
#include "sync/error.h"

namespace tandem {
namespace {

constexpr int kThreads = 2;  // of a reader without io_uring
constexpr std::align_val_t kPage{4096};

struct Pages {
  void operator()(std::byte* memory) const { ::operator delete[](memory, kPage); }
};

size_t batch_for(const std::vector<ExpertRecords>& records, size_t batch_bytes) {
  for (const ExpertRecords& each : records) batch_bytes = std::max(batch_bytes, each.bytes);
  return batch_bytes;
}

}  // namespace

HotLoading::HotLoading(const PackedFile& file, std::vector<ExpertRecords> records, std::vector<HotExpert> hot,
                       HotTaker& taker, double disk_gbps, size_t batch_bytes)
    : file_(file),
      records_(std::move(records)),
      hot_(std::move(hot)),
      taker_(taker),
      disk_bytes_per_second_(disk_gbps * 1e9),
      batch_bytes_(batch_for(records_, batch_bytes)),
      reader_(file.descriptor(), file.path(), kThreads, usable_cores()),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

HotLoading::~HotLoading() {
  thread_.request_stop();
  thread_.join();
}

void HotLoading::hold() {
  const std::scoped_lock lock(mutex_);
  holds_ = true;
}

void HotLoading::go_on() {
  {
    const std::scoped_lock lock(mutex_);
    holds_ = false;
  }
  changed_.notify_one();
}

HotLoading::Totals HotLoading::totals() const {
  const std::scoped_lock lock(mutex_);
  return totals_;
}

// Waits while passes read. False: the program ends.
bool HotLoading::may_go_on(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  return changed_.wait(lock, stop, [this] { return !holds_; }) && !stop.stop_requested();
}

// Experts are picked when they are read, because passes fill slots meanwhile.
void HotLoading::run(const std::stop_token& stop) {
  try {
    const std::unique_ptr<std::byte, Pages> memory(static_cast<std::byte*>(::operator new[](batch_bytes_, kPage)));
    for (size_t next = 0; next < hot_.size() && may_go_on(stop);) {
      std::vector<HotExpert> batch;
      size_t bytes = 0;
      for (; next < hot_.size(); ++next) {
        const size_t record = records_[hot_[next].at].bytes;
        if (bytes + record > batch_bytes_) break;
        if (!taker_.needs(hot_[next])) continue;
        batch.push_back(hot_[next]);
        bytes += record;
      }
      const double start = now_seconds();
      if (!read(batch, {memory.get(), batch_bytes_})) break;
      if (disk_bytes_per_second_ <= 0) continue;
      std::unique_lock lock(mutex_);
      const double left = start + static_cast<double>(bytes) / disk_bytes_per_second_ - now_seconds();
      changed_.wait_for(lock, stop, std::chrono::duration<double>(left), [] { return false; });
    }
  } catch (const std::exception& error) {
    spdlog::info("experts are not read in the background: {}", error.what());
  }
  const std::scoped_lock lock(mutex_);
  totals_.has_ended = true;
}

// False: a record is damaged, so no other one is trusted either.
bool HotLoading::read(std::span<const HotExpert> hot, std::span<std::byte> memory) {
  std::vector<sync::BlockRead> blocks;
  std::byte* to = memory.data();
  for (const HotExpert& each : hot) {
    const ExpertRecords& records = records_[each.at];
    blocks.push_back({file_.offset_of(records, each.expert), to, records.bytes});
    to += records.bytes;
  }
  reader_.read(blocks);
  for (size_t i = 0; i < hot.size(); ++i) {
    const ExpertRecords& records = records_[hot[i].at];
    const std::span<const std::byte> record{blocks[i].to, records.bytes};
    if (!is_intact(record, records.layer, hot[i].expert)) {
      spdlog::info("experts are not read in the background: {}: layer {}, expert {} is damaged", file_.path(),
                   records.layer, hot[i].expert);
      return false;
    }
    const bool taken = taker_.take(hot[i], record);
    const std::scoped_lock lock(mutex_);
    totals_.read_bytes += records.bytes;
    totals_.taken += taken;
  }
  return true;
}

}  // namespace tandem
