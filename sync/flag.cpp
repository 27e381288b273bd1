#include "sync/flag.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>
#include <utility>

#include "sync/error.h"

namespace tandem::sync {
namespace {

constexpr uint32_t kRaisedWrongly = 2;  // same value as in kernels/flags.cl

// The load pairs with the increment in sleep_until().
void wake_sleepers(FlagLine& line) {
  if (line.sleepers.load(std::memory_order_seq_cst) == 0) return;  // a system call only when a thread sleeps
  syscall(SYS_futex, &line.epoch, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

FlagLine& Flag::line() const {
  TANDEM_DCHECK(bank_ != nullptr, "an empty flag has no line");
  return bank_->slot_.as<FlagLine>()[index_];
}

uint32_t Flag::epoch() const { return line().epoch.load(std::memory_order_acquire); }  // pairs with raise() and gate.cl

void Flag::raise(uint32_t epoch) const {
  // The store has release order for the data; it pairs with epoch() and with the gate kernel's acquire load. It is also
  // sequentially consistent: either this thread sees the sleeper, or the sleeper sees the epoch.
  // A thread that sees the epoch may destroy the bank at once. So after the store this thread touches only the line,
  // which the pool owns.
  FlagLine& shared = line();
  const uint32_t before = shared.epoch.load(std::memory_order_relaxed);  // one signaller: this reads its own last store
  if (static_cast<int32_t>(before - epoch) >= 0) [[unlikely]] {
    const std::string epochs = "epoch " + std::to_string(epoch) + " after " + std::to_string(before);
    return fail((before == epoch ? "the signal was raised twice: " : "the signal was raised by a wrong epoch: ") +
                epochs);
  }
  shared.epoch.store(epoch, std::memory_order_seq_cst);
  wake_sleepers(shared);
}

// The first message stays. It is stored before the failure word, so a thread that sees the word finds the message.
void Flag::fail(const std::string& message) const {
  FlagLine& shared = line();  // as in raise()
  {
    std::lock_guard lock(bank_->mutex_);
    std::string& text = bank_->entries_[index_]->failure;
    if (text.empty()) text = message;
  }
  shared.failure.store(1, std::memory_order_seq_cst);
  wake_sleepers(shared);
}

// The futex compares the epoch again inside the system call. So it misses no raise() between the check here and the
// sleep; a fail() at that moment is noticed when `duration` has passed.
void Flag::sleep_until(uint32_t epoch, std::chrono::microseconds duration) const {
  FlagLine& shared = line();
  shared.sleepers.fetch_add(1, std::memory_order_seq_cst);
  const uint32_t seen = shared.epoch.load(std::memory_order_seq_cst);
  if (static_cast<int32_t>(seen - epoch) < 0 && shared.failure.load(std::memory_order_seq_cst) == 0) {
    const timespec time{duration.count() / 1'000'000, (duration.count() % 1'000'000) * 1000};
    syscall(SYS_futex, &shared.epoch, FUTEX_WAIT_PRIVATE, seen, &time, nullptr, 0);
  }
  shared.sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

bool Flag::failed() const { return line().failure.load(std::memory_order_acquire) != 0; }

// The failure's message; for a failure that a kernel set, a text by the value of the failure word.
std::string Flag::failure() const {
  if (!failed()) return "";
  std::lock_guard lock(bank_->mutex_);
  const std::string& text = bank_->entries_[index_]->failure;
  if (!text.empty()) return text;
  // A kernel stores no message, only the failure word.
  return line().failure.load(std::memory_order_acquire) == kRaisedWrongly
             ? "the device raised the signal twice or by a wrong epoch, after " + std::to_string(epoch())
             : "the device set the flag's failure word";
}

void Flag::clear_failure() const {
  std::lock_guard lock(bank_->mutex_);
  bank_->entries_[index_]->failure.clear();
  line().failure.store(0, std::memory_order_release);
}

const std::string& Flag::name() const { return bank_->entries_[index_]->name; }
const Slot& Flag::slot() const { return bank_->slot_; }
size_t Flag::offset_bytes() const { return index_ * sizeof(FlagLine); }

FlagBank::FlagBank(Pool& pool, uint32_t capacity, std::string label)
    : pool_(pool),
      slot_(pool.acquire(capacity * sizeof(FlagLine), SlotUse::flags, std::move(label))),
      capacity_(capacity) {
  // The slot's zeros serve as the lines. Nothing is constructed over them: a thread that raised a flag of the slot's
  // previous bank may still look at its line (Pool::clear()).
  entries_.reserve(capacity);  // readers use names without the lock, so entries never move
}

FlagBank::~FlagBank() { pool_.release(slot_); }

Flag FlagBank::make(std::string name) {
  std::lock_guard lock(mutex_);
  if (entries_.size() == capacity_) {
    throw Error("no flag left", slot_.label() + ", capacity " + std::to_string(capacity_) + ", wanted " + name);
  }
  entries_.push_back(std::make_unique<Entry>());
  entries_.back()->name = std::move(name);
  return Flag(this, static_cast<uint32_t>(entries_.size() - 1));
}

}  // namespace tandem::sync
