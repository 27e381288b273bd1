#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>

#include "engine/app/command.h"
#include "engine/app/command_line.h"
#include "engine/app/report.h"
#include "engine/app/scarcity.h"
#include "engine/app/standard_streams.h"

// Like the standard's operator new, but it records what was refused. Sanitizers have their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void* operator new(std::size_t bytes) {
  // The standard's loop: a new handler may free memory, and then the request is tried again. malloc() may grant memory
  // for whose use the control group kills the process, so the group's room is checked first.
  while (true) {
    const bool is_too_much = tandem::app::is_too_much_for_groups(bytes);
    if (void* place = is_too_much ? nullptr : std::malloc(bytes > 0 ? bytes : 1)) return place;
    tandem::app::note_refused(bytes);
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

void operator delete(void* place) noexcept { std::free(place); }
void operator delete(void* place, std::size_t) noexcept { std::free(place); }
#endif

int main(int argc, char** argv) {
  using namespace tandem::app;
  std::signal(SIGXFSZ, SIG_IGN);  // writing beyond `ulimit -f` then is an error of the call, also for help texts
  fill_closed_streams();
  try {
    return with_stack_room([&] { return run_program(argc, argv); });
  } catch (const std::exception& error) {  // before the command line was read
    report_error(scarcity_behind(error).value_or(tandem::Error("unexpected failure", error.what())), false);
    return kFailed;
  }
}
