// Waits for other processes: a wait of more than a second prints a line on standard error, and an interrupt ends it.
//
// Contract: the program registers once how it is asked to stop (a signal handler's flag). A program that registers
// nothing is never interrupted. A waiting loop calls LongWait::look() at least ten times a second. Threads: any.
#pragma once

#include <chrono>
#include <exception>
#include <string>

#include "sync/clock.h"
#include "tandem/error.h"

namespace tandem {

// asked: any thread may call it at any time. nullptr: nothing asks to stop.
void stop_waits_when(bool (*asked)());
bool stop_is_asked();
void keep_waits_to_yourself();  // from now on no wait prints its line: the user asked for quiet

// The longest time between two looks of a waiting loop.
inline constexpr std::chrono::milliseconds kLookEvery{50};

class LongWait {
 public:
  explicit LongWait(std::string what) : what_(std::move(what)) {}  // "another process that tries the drivers"
  void look();                                                     // throws Interrupted when the user asked to stop
  // For a wait in parts: the time between pause() and begin() does not count.
  void pause() { waited_ += Clock::now() - begin_; }
  void begin() { begin_ = Clock::now(); }

 private:
  std::string what_;
  Clock::duration waited_{0};
  Clock::time_point begin_ = Clock::now();
  bool told_ = false;
};

}  // namespace tandem
