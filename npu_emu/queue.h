// The command queue: an in-order list of commands and the worker thread that runs them.
//
// Contract
//   push() never blocks on a running command. Commands run one after another, in the order pushed, on the worker
//   (pinned to cores[0] when cores are given); further cores become helpers that a command reaches through its Team. An
//   empty queue costs nothing: the worker sleeps. drain() waits until everything pushed has ended, or until the
//   deadline passed. A command must not throw. The destructor runs what is still queued and joins. Threads: push() and
//   drain() from any thread but the worker's.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "npu_emu/team.h"

namespace tandem::npu_emu {

class CommandQueue {
 public:
  using Command = std::function<void(Team& team)>;

  explicit CommandQueue(const std::vector<int>& cores);
  ~CommandQueue();
  CommandQueue(const CommandQueue&) = delete;
  CommandQueue& operator=(const CommandQueue&) = delete;

  int threads() const { return team_.size(); }
  void push(Command command);
  // While held, an idle worker is not woken by push(): filling the queue does not compete with running it. hold(false)
  // and drain() wake it.
  void hold(bool on);
  bool drain(std::chrono::milliseconds deadline);  // false: the deadline passed

 private:
  void work();
  void stop();

  Team team_;
  std::mutex mutex_;
  std::condition_variable filled_, emptied_;
  std::deque<Command> commands_;
  bool running_ = false, ending_ = false, held_ = false;
  std::thread worker_;
};

}  // namespace tandem::npu_emu
