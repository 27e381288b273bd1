#include "sync/file_guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <utility>

#include "sync/error.h"

namespace tandem {

// What the handler reads: nothing but atomics, in a list that only grows.
struct FileGuard::Range {
  std::atomic<uintptr_t> begin{UINTPTR_MAX}, end{0};  // no address lies between these
  std::atomic<bool> writable{false}, lost{false};
  bool in_use = false;  // under the mutex
  Range* next = nullptr;
};

struct GuardedRanges {
  std::atomic<FileGuard::Range*> first{nullptr};
  std::mutex mutex;
  const uintptr_t page_bytes = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  int guards = 0;
  bool installed = false;
  struct sigaction before {};  // while installed

  bool replace(uintptr_t address);
  void install();
  void uninstall();
  FileGuard::Range* take();
};

namespace {

// The one state of a signal's handler, which has no other way to its data.
GuardedRanges& guarded_ranges() {
  static auto* const ranges = new GuardedRanges;  // not destroyed: a signal may come until the process ends
  return *ranges;
}
std::atomic<GuardedRanges*> ranges_of_handler{nullptr};

// As if the handler were not there: a read that fails does so again, and ends the process.
void end_as_without_handler(int signal, const siginfo_t* info) {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  ::sigaction(signal, &standard, nullptr);
  if (info->si_code <= 0) ::raise(signal);  // sent by a process: nothing fails again
}

void pass_on(const struct sigaction& before, int signal, siginfo_t* info, void* context) {
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(signal, info, context);
  if (before.sa_handler == SIG_IGN && info->si_code <= 0) return;
  if (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN) return end_as_without_handler(signal, info);
  before.sa_handler(signal);
}

extern "C" void on_lost_page(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  GuardedRanges* ranges = ranges_of_handler.load(std::memory_order_acquire);
  if (info->si_code <= 0 || !ranges->replace(reinterpret_cast<uintptr_t>(info->si_addr)))
    pass_on(ranges->before, signal, info, context);
  errno = error;
}

bool is_own(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_lost_page;
}

bool is_nobodys(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN);
}

}  // namespace

// Puts zeros where the page was, and where those behind it are: a file that was cut has lost all of them, and each by
// itself could take more mappings than a process may have. mmap is a system call and nothing else.
bool GuardedRanges::replace(uintptr_t address) {
  for (FileGuard::Range* range = first.load(std::memory_order_acquire); range != nullptr; range = range->next) {
    const uintptr_t begin = range->begin.load(), end = range->end.load();
    if (address < begin || address >= end) continue;
    range->lost.store(true);
    const uintptr_t page = address / page_bytes * page_bytes;
    const int protection = PROT_READ | (range->writable.load() ? PROT_WRITE : 0);
    return ::mmap(reinterpret_cast<void*>(page), end - page, protection,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != MAP_FAILED;
  }
  return false;
}

// Somebody's handler that has replaced this one stays above it: whether it calls this one is not known, and two that
// call each other would never end.
void GuardedRanges::install() {
  struct sigaction now {};
  ::sigaction(SIGBUS, nullptr, &now);
  if (is_own(now) || (installed && !is_nobodys(now))) return;
  before = now;
  ranges_of_handler.store(this, std::memory_order_release);
  struct sigaction own {};
  own.sa_sigaction = on_lost_page;
  own.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigemptyset(&own.sa_mask);
  installed = ::sigaction(SIGBUS, &own, nullptr) == 0;
}

void GuardedRanges::uninstall() {
  struct sigaction now {};
  ::sigaction(SIGBUS, nullptr, &now);
  if (installed && is_own(now)) installed = ::sigaction(SIGBUS, &before, nullptr) != 0;
}

FileGuard::Range* GuardedRanges::take() {
  for (FileGuard::Range* range = first.load(); range != nullptr; range = range->next) {
    if (!range->in_use) return range;
  }
  auto* range = new FileGuard::Range;
  range->next = first.load();
  first.store(range, std::memory_order_release);
  return range;
}

FileGuard::FileGuard(std::span<const std::byte> pages, bool writable) {
  GuardedRanges& ranges = guarded_ranges();
  const std::lock_guard lock(ranges.mutex);
  range_ = ranges.take();
  range_->in_use = true;
  range_->lost = false;
  range_->writable = writable;
  const uintptr_t page = ranges.page_bytes;
  const auto begin = reinterpret_cast<uintptr_t>(pages.data());
  TANDEM_CHECK(begin % page == 0, "a mapping begins at a page");
  range_->begin = begin;
  range_->end = begin + (pages.size() + page - 1) / page * page;
  ++ranges.guards;
  ranges.install();
}

FileGuard::FileGuard(FileGuard&& other) noexcept : range_(std::exchange(other.range_, nullptr)) {}

FileGuard& FileGuard::operator=(FileGuard&& other) noexcept {
  std::swap(range_, other.range_);
  return *this;
}

FileGuard::~FileGuard() {
  if (range_ == nullptr) return;
  GuardedRanges& ranges = guarded_ranges();
  const std::lock_guard lock(ranges.mutex);
  range_->end = 0;
  range_->begin = UINTPTR_MAX;
  range_->in_use = false;
  if (--ranges.guards == 0) ranges.uninstall();
}

bool FileGuard::lost() const { return range_ != nullptr && range_->lost.load(std::memory_order_acquire); }

}  // namespace tandem
