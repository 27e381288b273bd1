// Ensures room on stacks: `ulimit -s` may leave less than parsers, drivers and compilers need.
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <system_error>

#include "engine/app/scarcity.h"

namespace tandem::app {
namespace {

// The size that a process has without a limit.
constexpr rlim_t kStackRoom = rlim_t{8} << 20;
// A limit of at least this much is left as it is.
constexpr rlim_t kEnough = rlim_t{1} << 20;

struct OnOwnStack {
  const std::function<int()>& work;
  int status = 0;
  std::exception_ptr failure{};
};

void* run_on_own_stack(void* argument) {
  auto& own = *static_cast<OnOwnStack*>(argument);
  try {
    own.status = own.work();
  } catch (...) {
    own.failure = std::current_exception();
  }
  return nullptr;
}

void give_threads_room() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackRoom);
  pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
}

}  // namespace

// Raises the limit if the system allows it. Otherwise work() runs on a thread whose stack has the right size. Raising
// the limit is enough for the main thread, because Linux grows its stack on demand up to the current limit. Threads
// that start later take their size from the default attributes. An exception passes between the two threads by a
// pointer, so callers see no difference.
int with_stack_room(const std::function<int()>& work) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kEnough) return work();
  give_threads_room();
  limit.rlim_cur = std::min(kStackRoom, limit.rlim_max);
  if (limit.rlim_cur >= kEnough && ::setrlimit(RLIMIT_STACK, &limit) == 0) return work();
  OnOwnStack own{work};
  pthread_t thread{};
  if (const int code = pthread_create(&thread, nullptr, run_on_own_stack, &own); code != 0)
    throw std::system_error(code, std::generic_category());
  pthread_join(thread, nullptr);
  if (own.failure) std::rethrow_exception(own.failure);
  return own.status;
}

}  // namespace tandem::app
