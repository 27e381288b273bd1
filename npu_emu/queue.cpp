#include "npu_emu/queue.h"

#include <utility>

namespace tandem::npu_emu {

namespace {

std::vector<int> all_but_first(const std::vector<int>& cores) {
  return cores.empty() ? std::vector<int>() : std::vector<int>(cores.begin() + 1, cores.end());
}

}  // namespace

CommandQueue::CommandQueue(const std::vector<int>& cores) : team_(all_but_first(cores)) {
  worker_ = std::thread([this] { work(); });
  if (cores.empty()) return;
  try {
    tie_to_core(worker_, cores.front());
  } catch (...) {
    stop();
    throw;
  }
}

CommandQueue::~CommandQueue() { stop(); }

void CommandQueue::stop() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  filled_.notify_one();
  worker_.join();
}

void CommandQueue::push(Command command) {
  bool was_idle;
  {
    std::lock_guard lock(mutex_);
    was_idle = commands_.empty() && !running_ && !held_;
    commands_.push_back(std::move(command));
  }
  // A busy worker looks into the queue by itself; waking costs the pusher a system call.
  if (was_idle) filled_.notify_one();
}

void CommandQueue::hold(bool on) {
  {
    std::lock_guard lock(mutex_);
    held_ = on;
  }
  if (!on) filled_.notify_one();
}

bool CommandQueue::drain(std::chrono::milliseconds deadline) {
  hold(false);
  std::unique_lock lock(mutex_);
  return emptied_.wait_for(lock, deadline, [&] { return commands_.empty() && !running_; });
}

void CommandQueue::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    filled_.wait(lock, [&] { return (!commands_.empty() && !held_) || ending_; });
    if (commands_.empty()) return;
    Command command = std::move(commands_.front());
    commands_.pop_front();
    running_ = true;
    lock.unlock();
    command(team_);
    command = nullptr;
    lock.lock();
    running_ = false;
    if (commands_.empty()) emptied_.notify_all();
  }
}

}  // namespace tandem::npu_emu
