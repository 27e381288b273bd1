// Waiting for other processes: a wait of more than a second is said on standard error, and an interrupt ends it.
//
// Contract: the program says once how it is asked to stop (a signal handler's flag); a library that never does so is
// never asked. LongWait::look() is called again and again by whoever waits, at least ten times a second. Threads: any.
#pragma once

#include <chrono>
#include <exception>
#include <string>

#include "sync/clock.h"

namespace tandem {

// The user asked to stop, and nothing has failed.
struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

// asked: may be called by any thread at any time. nullptr: nobody asks.
void stop_waits_when(bool (*asked)());
bool stop_is_asked();
void keep_waits_to_yourself();  // from now on none is said: the user asked for quiet

// How long one look of a loop that waits may take.
inline constexpr std::chrono::milliseconds kLookEvery{50};

class LongWait {
 public:
  explicit LongWait(std::string what) : what_(std::move(what)) {}  // "another process that tries the drivers"
  void look();                                                     // Interrupted when the user asked to stop
  // Of a wait in parts: what lies between pause() and begin() is no part of it.
  void pause() { waited_ += Clock::now() - begin_; }
  void begin() { begin_ = Clock::now(); }

 private:
  const std::string what_;
  Clock::duration waited_{0};
  Clock::time_point begin_ = Clock::now();
  bool told_ = false;
};

}  // namespace tandem
