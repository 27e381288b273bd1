// A progress bar on stderr, drawn only when that is a terminal.
//
// Contract: update() may be called often, from one thread; it draws at most twenty times a second. The bar is wiped
// when it is complete, by clear() and by the destructor, so that the next text begins on a clean line.
#pragma once

#include <cstdint>
#include <string>

#include "sync/clock.h"

namespace tandem::app {

enum class ProgressUnit { bytes, tokens, points };

class Progress {
 public:
  // shown: false if the user wants quiet, or if stderr is no terminal.
  Progress(std::string label, ProgressUnit unit, bool shown = stderr_is_terminal());
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(uint64_t done, uint64_t total);
  void clear();

  static bool stderr_is_terminal();
  // "loading [=====>    ]  52 %  51.2 / 98.4 MB": one line of at most 79 characters.
  static std::string line(const std::string& label, ProgressUnit unit, uint64_t done, uint64_t total);

 private:
  std::string label_;
  ProgressUnit unit_;
  bool shown_, drawn_ = false;
  Clock::time_point last_{};
};

}  // namespace tandem::app
