#include "engine/app/scarcity.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <system_error>

#include "engine/app/command.h"
#include "sync/memory_room.h"

namespace tandem::app {
namespace {

// Process-wide, because the signal handlers that read them are.
std::atomic<size_t> refused_bytes{0};
// Room of a control group when it was too little; UINT64_MAX: it never was.
std::atomic<uint64_t> room_of_groups{UINT64_MAX};
std::atomic<bool> answers_in_json{false};
std::atomic<bool> is_ending{false};

constexpr double kMega = 1e-6;
// A driver that dies while less than this of the address space is left, or after memory was refused, died of that.
constexpr size_t kLittleLeft = size_t{512} << 20;

// With a smaller limit of the address space than this, drivers were seen to fail.
constexpr size_t kEnoughForDrivers = size_t{2} << 30;

constexpr const char* kMemoryAdvice = "Take a smaller model or a smaller --ctx-size, or allow more memory";
constexpr const char* kThreadsAdvice = "Allow more processes (ulimit -u) or more memory (ulimit -v, ulimit -d)";

// Builds text without allocating.
class Text {
 public:
  const char* c_str() const { return text_.data(); }
  __attribute__((format(printf, 2, 3))) void add(const char* format, ...) {
    va_list values;
    va_start(values, format);
    const int more = std::vsnprintf(text_.data() + length_, text_.size() - length_, format, values);
    va_end(values);
    if (more > 0) length_ = std::min(text_.size() - 1, length_ + static_cast<size_t>(more));
  }

 private:
  std::array<char, 640> text_{};
  size_t length_ = 0;
};

// Memory of the process by the system's own count: one column of /proc/self/statm, in bytes.
size_t counted_bytes(int column) {
  std::array<char, 128> text{};
  const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t got = ::read(file, text.data(), text.size() - 1);
  ::close(file);
  char* at = text.data();
  unsigned long long pages = 0;
  for (int i = 0; got > 0 && i <= column; ++i) pages = std::strtoull(at, &at, 10);
  return pages * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

// A limit of this process's memory, and how much of it is used.
struct Limit {
  const char* name;
  const char* what;
  size_t used = 0, bytes = 0;  // 0 bytes: there is no such limit
  size_t left() const { return bytes - std::min(bytes, used); }
};

Limit limit_by(__rlimit_resource which, const char* name, const char* what, int column) {
  Limit found{name, what, counted_bytes(column)};
  rlimit limit{};
  if (::getrlimit(which, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) found.bytes = limit.rlim_cur;
  return found;
}

// The limit with the least memory left. Column 0 of statm counts all mapped pages, as RLIMIT_AS does. Column 5 counts
// data and stack, which is near to what RLIMIT_DATA limits.
Limit memory_limit() {
  const Limit addresses = limit_by(RLIMIT_AS, "ulimit -v", "mapped", 0);
  const Limit data = limit_by(RLIMIT_DATA, "ulimit -d", "of data", 5);
  const bool is_data = data.bytes > 0 && (addresses.bytes == 0 || data.left() < addresses.left());
  return is_data ? data : addresses;
}

// Memory that was refused once counts for the rest of the run, because a library may give up only later.
bool is_short_of_memory() {
  const Limit limit = memory_limit();
  return refused_bytes > 0 || (limit.bytes > 0 && limit.left() < kLittleLeft);
}

// "12.5 MB wanted; 380.2 MB mapped of the 409.6 MB that ulimit -v allows"
void add_memory(Text& text) {
  const size_t wanted = refused_bytes;
  if (wanted >= 100'000) text.add("%.1f MB wanted; ", kMega * static_cast<double>(wanted));
  if (wanted > 0 && wanted < 100'000) text.add("%zu bytes wanted; ", wanted);
  const Limit limit = memory_limit();
  text.add("%.1f MB %s", kMega * static_cast<double>(limit.used), limit.what);
  if (limit.bytes > 0) text.add(" of the %.1f MB that %s allows", kMega * static_cast<double>(limit.bytes), limit.name);
  if (room_of_groups != UINT64_MAX)
    text.add(", and the control group has %.1f MB", kMega * static_cast<double>(room_of_groups));
}

// Writes the whole text, although write() may take only a part. An error ends it, because there is no other place for
// a report.
void say(int file, const char* text) {
  for (size_t length = std::strlen(text); length > 0;) {
    const ssize_t written = ::write(file, text, length);
    if (written <= 0) return;
    text += written;
    length -= static_cast<size_t>(written);
  }
}

// Writes the report with system calls alone, because it may run inside a signal handler, and ends the process.
// Other threads that arrive here wait, so that only one report is written. _exit() runs no destructors, which might
// need memory.
[[noreturn]] void end_with(const char* what, const char* on, const char* hint) {
  if (is_ending.exchange(true)) ::pause();  // another thread has begun to end the process
  Text message;
  message.add("%s: %s. %s", what, on, hint);
  say(STDERR_FILENO, "tandem: ");
  say(STDERR_FILENO, message.c_str());
  say(STDERR_FILENO, "\n");
  if (answers_in_json) {
    Text object;
    object.add(R"({"error":{"message":"%s","what":"%s","on":"%s","hint":"%s"}})", message.c_str(), what, on, hint);
    say(STDOUT_FILENO, object.c_str());
    say(STDOUT_FILENO, "\n");
  }
  ::_exit(kFailed);
}

[[noreturn]] void end_for_memory(const char* where) {
  Text on;
  on.add("%s, ", where);
  add_memory(on);
  end_with("out of memory", on.c_str(), kMemoryAdvice);
}

// std::thread reports a refused thread by this code (EAGAIN of pthread_create()).
bool is_want_of_threads(const std::exception& caught) {
  const auto* system = dynamic_cast<const std::system_error*>(&caught);
  return system != nullptr && system->code() == std::errc::resource_unavailable_try_again;
}

size_t stack_of_threads() {
  pthread_attr_t attributes;
  size_t bytes = 0;
  if (pthread_getattr_default_np(&attributes) != 0) return 0;
  pthread_attr_getstacksize(&attributes, &bytes);
  pthread_attr_destroy(&attributes);
  return bytes;
}

// "8.4 MB of stack wanted; 99 MB mapped of the 102.4 MB that ulimit -v allows, 7 processes that ulimit -u allows"
void add_threads(Text& text) {
  text.add("%.1f MB of stack wanted; ", kMega * static_cast<double>(stack_of_threads()));
  add_memory(text);
  rlimit limit{};
  if (::getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    text.add(", %llu processes that ulimit -u allows", static_cast<unsigned long long>(limit.rlim_cur));
}

// Threads are refused because of memory for their stacks, or because of the number of processes.
const char* no_thread() {
  return memory_limit().bytes > 0 ? "out of memory: a thread could not be started" : "a thread could not be started";
}

// Handles an exception that nothing has caught, from a thread or a destructor.
[[noreturn]] void on_terminate() {
  const std::exception_ptr current = std::current_exception();
  if (current) {
    try {
      std::rethrow_exception(current);
    } catch (const std::bad_alloc&) {
      end_for_memory("this process");
    } catch (const Error& error) {
      end_with(error.failure().c_str(), error.object().c_str(), error.hint().c_str());
    } catch (const std::exception& error) {
      if (is_want_of_threads(error)) {
        Text on;
        add_threads(on);
        end_with(no_thread(), on.c_str(), kThreadsAdvice);
      }
    } catch (...) {
    }
  }
  // Any other exception ends as usual. The handler of SIGABRT still looks whether memory is short.
  std::abort();
}

void end_as_before(int signal) {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  ::sigaction(signal, &standard, nullptr);
}

// When memory is refused, libraries give up with abort(), and some use the null pointer that they received. A crash
// without shortage is left alone: the default handler is restored, so it ends the process as before.
extern "C" void on_giving_up(int signal, siginfo_t* info, void*) {
  constexpr uintptr_t kNullPages = 1 << 16;
  const bool is_null = signal == SIGSEGV && reinterpret_cast<uintptr_t>(info->si_addr) < kNullPages;
  if ((signal == SIGABRT || is_null) && is_short_of_memory()) end_for_memory("a library or a driver");
  end_as_before(signal);
  // A crash repeats by itself when the handler returns. abort() needs the signal again.
  if (signal == SIGABRT) ::raise(signal);
}

void watch(int signal) {
  struct sigaction now {};
  if (::sigaction(signal, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) return;  // a sanitizer's handler stays
  struct sigaction own {};
  own.sa_sigaction = on_giving_up;
  own.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&own.sa_mask);
  ::sigaction(signal, &own, nullptr);
}

}  // namespace

// A control group does not refuse memory. It kills the process without a message when too much is used. So a large
// request is refused here, where an Error can still say why. Groups without limits cost only one look.
bool is_too_much_for_groups(size_t bytes) noexcept try {
  constexpr size_t kMuch = size_t{4} << 20;
  if (bytes < kMuch || !groups_have_limits()) return false;
  const auto room = group_room();
  if (!room || bytes <= room->bytes) return false;
  room_of_groups = room->bytes;
  return true;
} catch (...) {  // reading the system's files failed for lack of memory
  return false;
}

void note_refused(size_t bytes) noexcept { refused_bytes = bytes; }

std::string scarcity_of_drivers() {
  const Limit limit = memory_limit();
  if (limit.bytes == 0 || limit.bytes > kEnoughForDrivers) return "";
  Text text;
  text.add("drivers that need more than the %.1f MB of memory that %s allows are left out",
           kMega * static_cast<double>(limit.bytes), limit.name);
  return text.c_str();
}

void watch_for_scarcity(bool json) {
  answers_in_json = json;
  std::set_terminate(on_terminate);
  watch(SIGABRT);
  watch(SIGSEGV);
}

// Scarcity has three signs: bad_alloc, a thread that could not start, and any other Error while memory is short.
std::optional<Error> scarcity_behind(const std::exception& caught) {
  Text on;
  if (dynamic_cast<const std::bad_alloc*>(&caught) != nullptr) {
    add_memory(on);
    return Error("out of memory", on.c_str(), kMemoryAdvice);
  }
  if (is_want_of_threads(caught)) {
    add_threads(on);
    return Error(no_thread(), on.c_str(), kThreadsAdvice);
  }
  // A driver may report scarcity with any code of its own.
  const auto* error = dynamic_cast<const Error*>(&caught);
  if (error == nullptr || !is_short_of_memory()) return std::nullopt;
  add_memory(on);
  const std::string hint = error->hint().empty() ? "" : error->hint() + ". ";
  return Error(error->failure(), error->object(), hint + "Memory is short: " + on.c_str());
}

}  // namespace tandem::app
