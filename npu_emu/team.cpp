#include "npu_emu/team.h"

#include <chrono>
#include <cstring>

#include "sync/affinity.h"
#include "sync/clock.h"
#include "sync/error.h"

namespace tandem::npu_emu {

namespace {

// Longer than the gap between two operators of a decode step, and so short that a user does not notice the load.
constexpr std::chrono::microseconds kSpin{200};

// Polls until `ready` or until the time is over. It yields the core at times, in case the other side needs it.
template <typename Ready>
bool spin_until(const Ready& ready, std::chrono::microseconds limit) {
  const auto end = Clock::now() + limit;
  while (true) {
    for (int i = 0; i < 64; ++i)
      if (ready()) return true;
    if (Clock::now() > end) return false;
    std::this_thread::yield();
  }
}

}  // namespace

void tie_to_core(std::thread& thread, int core) {
  if (const int code = pin_thread(thread, {{core}})) {
    throw Error("cannot tie an NPU thread to its core", "core " + std::to_string(core) + ": " + std::strerror(code),
                "name cores that this process may use");
  }
}

// If a helper cannot be tied to its core, all helpers are joined before the error leaves the constructor.
Team::Team(const std::vector<int>& helper_cores)
    : bank_(pool_, static_cast<uint32_t>(helper_cores.size()) + 1, "npu team"), started_(bank_.make("npu team start")) {
  try {
    for (const int core : helper_cores) {
      const int part = size();
      helpers_.push_back(std::make_unique<Helper>());
      Helper& helper = *helpers_.back();
      helper.done = bank_.make("npu part " + std::to_string(part));
      helper.thread = std::thread([this, &helper, part] { help(helper, part); });
      tie_to_core(helper.thread, core);
    }
  } catch (...) {
    stop();
    throw;
  }
}

Team::~Team() { stop(); }

// An epoch without work ends the helpers. A helper whose thread could not start has nothing to join.
void Team::stop() {
  work_ = nullptr;
  start(++epoch_);
  for (auto& helper : helpers_)
    if (helper->thread.joinable()) helper->thread.join();
}

void Team::start(uint32_t epoch) {
  started_.raise(epoch);
  // A helper checks the flag under this lock before it sleeps: it either sees the epoch or is counted here.
  std::lock_guard lock(mutex_);
  if (sleeping_ > 0) wake_.notify_all();
}

// Spins first, because the next operator usually comes soon. Then it sleeps, so that an idle NPU leaves its
// cores alone.
void Team::await_start(uint32_t epoch) {
  const auto ready = [&] { return started_.reached(epoch); };
  if (spin_until(ready, kSpin)) return;
  std::unique_lock lock(mutex_);
  ++sleeping_;
  wake_.wait(lock, ready);
  --sleeping_;
}

// The loop counts epochs itself, so it takes part in each run exactly once. A failure is kept for run(), and the flag
// rises in any case.
void Team::help(Helper& helper, int part) {
  for (uint32_t epoch = 1;; ++epoch) {
    await_start(epoch);
    if (work_ == nullptr) return;
    try {
      (*work_)(part);
    } catch (...) {
      helper.failure = std::current_exception();
    }
    helper.done.raise(epoch);
  }
}

// The caller computes part 0. It waits for every helper even after a failure, because their work refers to the
// caller's variables.
void Team::run(const std::function<void(int part)>& work) {
  if (helpers_.empty()) return work(0);
  work_ = &work;
  start(++epoch_);
  std::exception_ptr failure;
  try {
    work(0);
  } catch (...) {
    failure = std::current_exception();
  }
  for (auto& helper : helpers_) {
    const auto ready = [&] { return helper->done.reached(epoch_); };
    while (!spin_until(ready, kSpin)) std::this_thread::yield();
    if (!failure) failure = helper->failure;
    helper->failure = nullptr;
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace tandem::npu_emu
