#include "sync/long_wait.h"

#include <atomic>
#include <cstdio>

namespace tandem {
namespace {

constexpr std::chrono::seconds kSaidAfter{1};

// These are globals because signals, and the answers to them, belong to the whole process.
std::atomic<bool (*)()> asked_to_stop = nullptr;
std::atomic<bool> is_said = true;

}  // namespace

void stop_waits_when(bool (*asked)()) { asked_to_stop = asked; }

void keep_waits_to_yourself() { is_said = false; }

bool stop_is_asked() {
  bool (*const asked)() = asked_to_stop;
  return asked != nullptr && asked();
}

// The parts of a wait add up, and the line is printed once.
void LongWait::look() {
  if (stop_is_asked()) throw Interrupted();
  if (told_ || waited_ + (Clock::now() - begin_) < kSaidAfter) return;
  told_ = true;
  if (!is_said) return;
  std::fprintf(stderr, "waiting for %s ...\n", what_.c_str());
}

}  // namespace tandem
