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

// The data that the signal handler reads: only atomics, in a list that only grows. The handler can therefore walk it at
// any time.
struct FileGuard::Range {
  std::atomic<uintptr_t> begin{UINTPTR_MAX}, end{0};  // no address lies between these two
  std::atomic<bool> writable{false}, lost{false};
  bool in_use = false;  // protected by the mutex
  Range* next = nullptr;
};

struct GuardedRanges {
  std::atomic<FileGuard::Range*> first{nullptr};
  std::mutex mutex;
  const uintptr_t page_bytes = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  int guards = 0;
  bool installed = false;
  struct sigaction before {};  // the handler that was there before; valid while installed

  bool replace(uintptr_t address);
  void install();
  void uninstall();
  FileGuard::Range* take();
};

namespace {

// A signal handler reaches its data only through global state. This is the only such state.
GuardedRanges& guarded_ranges() {
  static auto* const ranges = new GuardedRanges;  // never destroyed: a signal may come until the process ends
  return *ranges;
}
std::atomic<GuardedRanges*> ranges_of_handler{nullptr};

// Behaves as if this handler did not exist: the failing read repeats under the standard handler, which ends
// the process.
void end_as_without_handler(int signal, const siginfo_t* info) {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  ::sigaction(signal, &standard, nullptr);
  if (info->si_code <= 0) ::raise(signal);  // sent by a process: no read fails again, so the signal is raised again
}

// Calls the handler that SIGBUS had before install().
void pass_on(const struct sigaction& before, int signal, siginfo_t* info, void* context) {
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(signal, info, context);
  if (before.sa_handler == SIG_IGN && info->si_code <= 0) return;
  if (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN) return end_as_without_handler(signal, info);
  before.sa_handler(signal);
}

// The handler of SIGBUS; it may only use functions that are safe in signal handlers. A positive si_code means that the
// kernel raised the signal for a memory access.
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

// No program code handles the signal.
bool is_nobodys(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN);
}

}  // namespace

// Puts zeros in place of the lost page and of all pages behind it. A file that was cut has lost all of them, and one
// mapping for each could be more mappings than a process may have. The handler may call mmap because mmap is a plain
// system call.
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

// If the program has replaced this handler by its own, the program's handler stays on top. This code cannot know
// whether that handler calls this one, and two handlers that call each other would never end.
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

// Puts the former handler back, unless the program has installed another one meanwhile.
void GuardedRanges::uninstall() {
  struct sigaction now {};
  ::sigaction(SIGBUS, nullptr, &now);
  if (installed && is_own(now)) installed = ::sigaction(SIGBUS, &before, nullptr) != 0;
}

// Returns a range that no guard uses, or adds one to the list. The caller holds the mutex.
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
  // The handler may run between any two stores. Until the end is stored too, the range contains no address.
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
  // The end goes first, so that no state in between contains an address.
  range_->end = 0;
  range_->begin = UINTPTR_MAX;
  range_->in_use = false;
  if (--ranges.guards == 0) ranges.uninstall();
}

bool FileGuard::lost() const { return range_ != nullptr && range_->lost.load(std::memory_order_acquire); }

}  // namespace tandem
